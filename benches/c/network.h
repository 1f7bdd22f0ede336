/* What the kernel of this network counts; the comparisons run in a network of their own, where
 * nobody else is counted. Answers 0 where the system tells nothing.
 */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdio.h>
#include <string.h>

/* Packets that went over the loopback interface; each is sent once and received once. */
static inline long loopback_packets(void)
{
    FILE *file = fopen("/proc/net/dev", "r");
    char line[512];
    long packets = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *name = strstr(line, "lo:");

        if (name != NULL && sscanf(name + 3, "%*s %ld", &packets) == 1)
            break;
    }
    if (file != NULL)
        fclose(file);
    return packets;
}

/* Datagrams for which a socket had no room (RcvbufErrors, the fifth counter of UDP). */
static inline long udp_drops(void)
{
    FILE *file = fopen("/proc/net/snmp", "r");
    char line[512];
    long drops = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Udp: %*d %*d %*d %*d %ld", &drops) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return drops;
}

#endif
