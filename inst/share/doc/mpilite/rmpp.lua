-- A dissector of RMPP as mpi-lite speaks it, for Wireshark and tshark (4.0 or newer):
--
--     tshark -X lua_script:docs/rmpp.lua -o udp.try_heuristic_first:TRUE -r job.pcapng
--
-- docs/protocol.md describes the wrap of a datagram and the headers of its packets. The dissector
-- looks at all datagrams of UDP, whatever their ports, and takes those that begin so. Encrypted
-- datagrams of a network are left alone; `mpirun --packets` records them in clear.

local WRAP_BYTES, CLASSIC_BYTES, FAST_BYTES = 16, 28, 36
local RANKS_MOST = 1000000

local KINDS = {
    [1] = "RTS", [2] = "LAST_RTS", [3] = "CTS", [4] = "DATA", [5] = "STOP_DATA",
    [6] = "LAST_DATA", [7] = "MSGEND", [8] = "MSGDROP", [9] = "GCH", [10] = "NULL",
}
local RTS, LAST_RTS, CTS, DATA, STOP_DATA, LAST_DATA, MSGEND = 1, 2, 3, 4, 5, 6, 7

local wrap = Proto("mpilite", "mpi-lite datagram")
local w = {
    mark = ProtoField.bytes("mpilite.mark", "Mark"),
    from = ProtoField.uint32("mpilite.from", "Sender's rank"),
    bytes = ProtoField.uint16("mpilite.bytes", "Bytes of the datagram"),
    seal = ProtoField.uint16("mpilite.seal", "For the seal", base.HEX),
}
wrap.fields = w

local rmpp = Proto("rmpp", "Reliable Message Passing Protocol")
local f = {
    kind = ProtoField.uint16("rmpp.kind", "Type", base.DEC, KINDS),
    version = ProtoField.uint16("rmpp.version", "Version"),
    src = ProtoField.uint32("rmpp.src", "srcNID: sender of the message"),
    msgid = ProtoField.uint32("rmpp.msgid", "msgID"),
    len = ProtoField.uint64("rmpp.len", "Length of the message"),
    seq = ProtoField.uint32("rmpp.seq", "Sequence number"),
    info1 = ProtoField.uint16("rmpp.info1", "info1: size of the grant"),
    info2 = ProtoField.uint16("rmpp.info2", "info2: attempt"),
    msgnum = ProtoField.uint32("rmpp.msgnum", "msgNum"),
    ack = ProtoField.uint32("rmpp.ack", "Accepted are all before"),
    flags = ProtoField.uint16("rmpp.flags", "Flags", base.HEX),
    asks = ProtoField.bool("rmpp.flags.asks", "Asks for an acknowledgement", 16, nil, 0x0001),
    probe = ProtoField.bool("rmpp.flags.probe", "Probe", 16, nil, 0x0002),
    pure = ProtoField.bool("rmpp.flags.pure", "Names no message", 16, nil, 0x0004),
    gap = ProtoField.bool("rmpp.flags.gap", "First packets came early", 16, nil, 0x0008),
    words = ProtoField.uint16("rmpp.flags.words", "Words of bits", base.DEC, nil, 0xf000),
    bits = ProtoField.uint64("rmpp.bits", "Missing or early", base.HEX),
    payload = ProtoField.bytes("rmpp.payload", "Payload"),
    payload_bytes = ProtoField.uint32("rmpp.payload_bytes", "Payload bytes"),
}
rmpp.fields = f

-- Payload bytes of a full packet, by message: its RTS and its DATA packets tell.
local full_bytes = {}

function rmpp.init()
    full_bytes = {}
end

-- The header at `at`, or nil if it is cut off or none.
local function header_at(tvb, at)
    if tvb:len() < at + CLASSIC_BYTES then return nil end
    local header = {
        kind = tvb(at, 2):uint(),
        version = tvb(at + 2, 2):uint(),
        len = tvb(at + 12, 4):uint(),
        seq = tvb(at + 16, 4):uint(),
        info1 = tvb(at + 22, 2):uint(),
        message = tvb(at + 4, 8):bytes():tohex(),
        bytes = CLASSIC_BYTES,
        words = 0,
        flags = 0,
    }
    if not KINDS[header.kind] or header.version < 1 or header.version > 2 then return nil end
    if header.version == 2 then
        if tvb:len() < at + FAST_BYTES then return nil end
        header.flags = tvb(at + 32, 2):uint()
        header.words = math.floor(header.flags / 4096)
        header.len = header.len + tvb(at + 34, 2):uint() * 4294967296
        header.bytes = FAST_BYTES + 8 * header.words
        if header.words > 4 or tvb:len() < at + header.bytes then return nil end
    end
    return header
end

-- Payload bytes of a packet if `rest` bytes follow its header. A full packet leaves no room for
-- another one behind it.
local function payload_bytes(header, rest)
    local kind, full = header.kind, nil
    if kind == RTS or kind == DATA or kind == STOP_DATA then
        full_bytes[header.message] = rest
        return rest
    elseif kind == LAST_RTS then
        return math.min(header.len, rest)
    elseif kind == LAST_DATA then
        full = full_bytes[header.message]
        local left = full and header.len - header.seq * full or rest
        return (left > 0 and left <= rest) and left or rest
    end
    return 0
end

local function in_words(header, tvb, at)
    local name = KINDS[header.kind]
    if header.kind == RTS or header.kind == LAST_RTS then
        return string.format("%s %d B", name, header.len)
    elseif header.kind == CTS then
        return string.format("%s n=%d from #%d", name, header.info1, header.seq)
    elseif header.kind == DATA or header.kind == STOP_DATA or header.kind == LAST_DATA then
        return string.format("%s #%d", name, header.seq)
    elseif header.kind == MSGEND and math.floor(header.flags / 4) % 2 == 1 then
        return string.format("%s all before %d", name, tvb(at + 28, 4):uint())
    end
    return name
end

local function add_header(tree, tvb, at, header)
    tree:add(f.kind, tvb(at, 2))
    tree:add(f.version, tvb(at + 2, 2))
    tree:add(f.src, tvb(at + 4, 4))
    tree:add(f.msgid, tvb(at + 8, 4))
    tree:add(f.len, tvb(at + 12, 4), UInt64(header.len % 4294967296,
        math.floor(header.len / 4294967296)))
    tree:add(f.seq, tvb(at + 16, 4))
    tree:add(f.info2, tvb(at + 20, 2))
    tree:add(f.info1, tvb(at + 22, 2))
    tree:add(f.msgnum, tvb(at + 24, 4))
    if header.version < 2 then return end
    tree:add(f.ack, tvb(at + 28, 4))
    local range = tvb(at + 32, 2)
    local flags = tree:add(f.flags, range)
    for _, field in ipairs({ f.asks, f.probe, f.pure, f.gap, f.words }) do
        flags:add(field, range)
    end
    for number = 0, header.words - 1 do
        tree:add(f.bits, tvb(at + FAST_BYTES + 8 * number, 8))
    end
end

function wrap.dissector(tvb, pinfo, root)
    pinfo.cols.protocol = "RMPP"
    local tree = root:add(wrap, tvb(0, WRAP_BYTES))
    tree:add(w.mark, tvb(0, 8))
    tree:add(w.from, tvb(8, 4))
    tree:add(w.bytes, tvb(12, 2))
    tree:add(w.seal, tvb(14, 2))
    local at, last, words = WRAP_BYTES, tvb:reported_len(), {}
    while at < last do
        local header = header_at(tvb, at)
        if not header then break end
        local body_at = at + header.bytes
        local bytes = payload_bytes(header, last - body_at)
        local kept = math.max(0, math.min(bytes, tvb:len() - body_at))
        local text = in_words(header, tvb, at)
        local packet = root:add(rmpp, tvb(at, header.bytes + kept))
        packet:append_text(", " .. text)
        add_header(packet, tvb, at, header)
        packet:add(f.payload_bytes, bytes):set_generated()
        if kept > 0 then packet:add(f.payload, tvb(body_at, kept)) end
        words[#words + 1] = text
        at = body_at + bytes
    end
    pinfo.cols.info = string.format("rank %d: %s", tvb(8, 4):uint(), table.concat(words, "; "))
    return tvb:len()
end

-- Returns true if a datagram begins as ours do.
local function is_ours(tvb)
    return tvb:len() >= WRAP_BYTES + CLASSIC_BYTES
        and tvb(12, 2):uint() == tvb:reported_len()
        and tvb(8, 4):uint() < RANKS_MOST
        and header_at(tvb, WRAP_BYTES) ~= nil
end

wrap:register_heuristic("udp", function(tvb, pinfo, root)
    if not is_ours(tvb) then return false end
    wrap.dissector(tvb, pinfo, root)
    return true
end)
