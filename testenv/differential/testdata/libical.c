/* A worker of the differential tests: libical. See worker in reference_test.go. */
#include <libical/ical.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    static char line[65536];
    icalerror_set_errors_are_fatal(0);
    printf("ready %s\n", ICAL_VERSION);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        char *rule = strtok(line, "\t"), *start = strtok(NULL, "\t"), *count = strtok(NULL, "\t\n");
        if (rule == NULL || start == NULL || count == NULL) {
            printf("! want three fields\n");
            fflush(stdout);
            continue;
        }
        icalerror_clear_errno();
        struct icalrecurrencetype recurrence = icalrecurrencetype_from_string(rule);
        icalrecur_iterator *found = NULL;
        if (recurrence.freq != ICAL_NO_RECURRENCE)
            found = icalrecur_iterator_new(recurrence, icaltime_from_string(start));
        if (found == NULL) {
            printf("! %s\n", icalerror_strerror(icalerrno));
            fflush(stdout);
            continue;
        }
        int n = atoi(count), i;
        for (i = 0; i < n; i++) {
            struct icaltimetype at = icalrecur_iterator_next(found);
            if (icaltime_is_null_time(at)) {
                printf(" end");
                break;
            }
            printf(" %04d%02d%02dT%02d%02d%02d", at.year, at.month, at.day, at.hour, at.minute, at.second);
        }
        printf("\n");
        fflush(stdout);
        icalrecur_iterator_free(found);
    }
    return 0;
}
