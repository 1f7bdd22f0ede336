# Completion of mpirun's options for bash. Made from the table in launcher/src/cli/options.rs.
_mpilite_mpirun() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local option=$before words=()
    if [ "$word" = = ]; then word= option+==
    elif [ "$before" = = ]; then option=${COMP_WORDS[COMP_CWORD-2]}=; fi
    case ${option%=} in
        -n|-np|-c) words=(-W '') ;;
        --host|-H|--hosts) words=(-W '') ;;
        --hostfile|-f|--machinefile) words=(-f -W '') ;;
        -ppn|-N|--npernode|--perhost) words=(-W '') ;;
        --map-by) words=(-W 'slot node seq core l3cache numa socket package') ;;
        --rank-by) words=(-W 'slot node fill span') ;;
        --bind-to) words=(-W 'none hwthread core l2cache l3cache numa socket package board') ;;
        --display) words=(-W 'map allocation bind') ;;
        -x) words=(-W '') ;;
        --envlist) words=(-W '') ;;
        --genvlist) words=(-W '') ;;
        --wdir|--wd) words=(-d) ;;
        --path) words=(-d) ;;
        --prefix) words=(-d) ;;
        --app|--configfile) words=(-f -W '') ;;
        --transport) words=(-W 'auto shm rmpp gobackn unet sctp tcp tcp-trc loopback') ;;
        --interface|--iface) words=(-W '') ;;
        --port-range) words=(-W '') ;;
        --launcher|--bootstrap) words=(-W 'ssh srun') ;;
        --launch-timeout) words=(-W '') ;;
        --launch-fanout) words=(-W '') ;;
        --ssh-args) words=(-W '') ;;
        --net) words=(-W '') ;;
        --output|--output-filename) words=(-d) ;;
        --stdin) words=(-W 'all none') ;;
        --timeout) words=(-W '') ;;
        --grace) words=(-W '') ;;
        --stall) words=(-W 'report abort off') ;;
        --stall-after) words=(-W '') ;;
        --stall-json) words=(-f -W '') ;;
        --packets) words=(-f -W '') ;;
        --sequence) words=(-f -W '') ;;
        --sequence-packets) words=(-W '') ;;
    esac
    case $option in *=) case ${option%=} in
        --stats) words=(-f -W 'json') ;;
        --secure) words=(-W 'encrypt tag cookie') ;;
    esac ;; esac
    if [ ${#words[@]} = 0 ]; then
        case $word in
        -*) words=(-W '-n -np -c --host -H --hosts --hostfile -f --machinefile -ppn -N --npernode --perhost --map-by --rank-by --bind-to --report-bindings --display-map --display --byslot --bynode --oversubscribe --nooversubscribe -x --env --envall --envnone --envlist --genv --genvall --genvnone --genvlist --wdir --wd --path --prefix --preload --preload-binary --app --configfile --transport --interface --iface --port-range --launcher --bootstrap --launch-timeout --launch-fanout --ssh-args --net --tag-output -l --prepend-rank --timestamp-output --merge-stderr --merge-stderr-to-stdout --output --output-filename --stdin --stats --secure --timeout --grace --stall --stall-after --stall-json --packets --sequence --sequence-packets --mca --gmca --omca --prtemca --pmixmca --help -h --version -V --info --verbose -v') ;;
        *) words=(-c -f) ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen "${words[@]}" -- "$word")
}
complete -o filenames -F _mpilite_mpirun mpirun mpiexec
