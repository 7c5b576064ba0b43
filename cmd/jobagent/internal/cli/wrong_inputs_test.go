package cli

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/values"
)

// wrongFixture makes the objects that the wrong inputs are about.
const wrongFixture = `
target-group create g
target-group create free
target-group add g --server sql1 --database d
job create j
job create other
job create empty
step add j --command PRINT~1; --target-group g
step add j --command PRINT~2; --target-group g --name second
step add other --command PRINT~1; --target-group g
schedule add j s --cron5 0~0~1~1~*
schedule add j minutes --cron5 *~*~*~*~* --enabled=false
calendar add c --spec CALENDAR
schedule add j blocked --kind azure-scheduler --spec BLOCKED
limit set Job j 5
alert channel add hook Http {"url":"https://example.com/"}
alert rule add failed RunEnded --job j --channel hook
alert rule add silent NoAgent
job start j --execution-id 00000000-0000-4000-8000-000000000001
`

// run1 is the ID of the active run of the fixture, and noRun an ID that no object has.
const (
	run1  = "00000000-0000-4000-8000-000000000001"
	noRun = "00000000-0000-4000-8000-000000000002"
)

// wrongInputs are command lines with the exit code and a part of the one line on stderr. A tilde
// stands for a blank within an argument, and EMPTY for an empty argument. Words in capitals with a
// file name are files of the test.
var wrongInputs = []struct {
	line string
	code int
	want string
}{
	{"help foo", 2, `unknown command "jobagent foo": see jobagent --help`},
	{"help job foo", 2, `unknown command "jobagent job foo": see jobagent job --help`},
	{"help output nope", 2, `unknown help topic "output nope": see jobagent help output`},
	{"completion tcsh", 2, `unknown shell "tcsh": want bash, fish, powershell or zsh`},
	{"completion bash x", 2, `unexpected argument "x": see jobagent completion bash --help`},
	{"help job delete x", 2, `unknown command "jobagent job delete x": see jobagent job delete --help`},
	// Names.
	{"job show EMPTY", 2, "JOB is empty"},
	{"job delete EMPTY", 2, "JOB is empty"},
	{"job stop EMPTY", 2, "is empty"},
	{"job start EMPTY", 2, "JOB is empty"},
	{"job create EMPTY", 2, "JOB is empty"},
	{"job create LONG", 2, "too long"},
	{"job delete LONG", 2, "too long"},
	{"script EMPTY", 2, "JOB is empty"},
	{"schedule explain EMPTY", 2, "JOB is empty"},
	{"schedule show EMPTY EMPTY", 2, "JOB is empty"},
	{"target-group show EMPTY", 2, "GROUP is empty"},
	{"target-group resolve EMPTY", 2, "GROUP is empty"},
	{"target-group delete LONG", 2, "too long"},
	{"step options EMPTY", 2, "JOB is empty"},
	{"history purge EMPTY", 2, "is empty"},
	{"job show nope", 3, `job "nope" does not exist`},
	{"job update nope --enabled", 3, "jobagent job list shows all jobs"},
	{"job enable j", 2, "would start a run now; try jobagent job start"},
	{"job update j --enabled", 2, "would start a run now; try jobagent job start"},
	{"schedule enable j", 2, "would start a run now; try jobagent job start"},
	{"job create fresh --enabled", 2, "would start a run as soon as the job has a step"},
	{"job delete nope --yes", 3, "The job 'nope' does not exist"},
	{"job start nope", 3, "does not exist"},
	{"job stop nope", 3, "does not exist"},
	{"job stop " + noRun, 3, "jobagent execution list shows all executions"},
	{"script nope", 3, "does not exist"},
	{"history purge nope --yes", 3, "does not exist"},
	{"step show nope", 3, "does not exist"},
	{"step add nope --command x --target-group g", 3, "does not exist"},
	{"step delete nope --step-id 1", 3, "does not exist"},
	{"schedule list --job nope", 3, "does not exist"},
	{"schedule delete j nope", 3, "nope"},
	{"schedule enable j nope", 3, "nope"},
	{"schedule pause nope", 3, "does not exist"},
	{"schedule backfill j nope --from 2020-01-01 --to 2020-01-02", 3, "nope"},
	{"schedule cancel-backfill 99", 3, "backfill 99 does not exist"},
	{"schedule cancel-backfill x", 2, "invalid backfill"},
	{"calendar delete nope", 3, "jobagent calendar list shows all calendars"},
	{"target-group show nope", 3, "does not exist"},
	{"target-group delete nope", 3, "jobagent target-group list shows all groups"},
	{"target-group add nope --server s", 3, "does not exist"},
	{"target-group remove g " + noRun, 3, "jobagent target-group show shows its members"},
	{"target-group remove g x", 2, "GUID"},
	{"execution list --job nope", 3, "does not exist"},
	{"execution show " + noRun, 3, "does not exist"},
	{"execution errors " + noRun, 3, "does not exist"},
	{"execution targets " + noRun, 3, "does not exist"},
	{"execution targets " + run1 + " --step-id 0", 2, "--step-id 0: steps have numbers from 1"},
	{"execution targets " + run1 + " --lifecycle Failed,nope", 2, `invalid --lifecycle "nope": want Running, Created, `},
	{"execution explain " + noRun, 3, "does not exist"},
	{"execution watch " + noRun, 3, "does not exist"},
	{"execution rerun " + noRun, 3, "does not exist"},
	{"execution callbacks " + noRun, 3, "does not exist"},
	{"execution complete " + noRun + " --succeeded", 3, "does not exist"},
	{"execution show zz", 2, "invalid EXECUTION_ID"},
	{"alert rule delete nope", 3, "jobagent alert rule list shows all alerts"},
	{"alert channel delete nope", 3, "jobagent alert channel list shows all channels"},
	{"alert mute nope", 3, "does not exist"},
	{"alert ack 99", 3, "jobagent alert history shows all alerts"},
	{"alert show 99", 3, "does not exist"},
	{"alert show x", 2, "invalid alert"},
	{"alert test nope", 3, "does not exist"},
	{"secret delete nope", 3, "jobagent secret list shows all secrets"},
	{"limit remove Job other", 3, "jobagent limit list shows all limits"},
	{"limit set Job nope 5", 3, "jobagent job list shows all jobs"},
	{"account show nope", 3, "does not exist"},
	{"account delete nope", 3, "does not exist"},
	{"account update nope --sku JA200", 3, "does not exist"},
	{"context use nope", 3, "nope"},
	{"db describe jobs.nope", 3, "nope"},

	// What is there already, or in use.
	{"job create j", 6, "jobagent job update"},
	{"job update other --new-name j", 6, "exists already"},
	{"target-group create g", 6, "exists already"},
	{"target-group add g --server SQL1 --database D", 6, "has the member"},
	{"target-group delete g", 6, "is used by step 1"},
	{"schedule add j s --cron5 0~1~*~*~*", 6, "jobagent schedule update"},
	{"calendar add c --spec CALENDAR", 6, "jobagent calendar update"},
	{"calendar delete c", 6, "is used by"},
	{"step add j --command x --target-group g --name second", 6, "has a step named"},
	{"alert rule add failed RunEnded", 6, "jobagent alert rule update"},
	{"alert channel add hook Http {\"url\":\"https://example.com/\"}", 6, "jobagent alert channel update"},
	{"alert channel delete hook", 6, "is used by"},
	{"alert test --alert silent", 2, "alert rule update --channel"},
	{"job start empty", 6, "jobagent step add"},
	{"job delete j", 6, "delete with --force"},
	{"job disable j", 2, "nothing was disabled; jobagent schedule disable JOB SCHEDULE"},
	{"schedule disable j nope", 3, "disable schedule: "},
	{"schedule resume j nope", 3, "resume schedule: "},
	{"job delete jobagent$history_retention", 2, "jobagent job disable"},
	{"job start other --execution-id " + run1, 6, "Choose another id"},
	{"execution rerun " + run1, 6, "jobagent job stop"},

	// Nothing to do.
	{"job update j", 2, "nothing to change"},
	{"step update j --step-id 1", 2, "nothing to change"},
	{"schedule update j s", 2, "nothing to change"},
	{"alert rule update failed", 2, "nothing to change"},
	{"alert channel update hook", 2, "nothing to change"},
	{"account update a", 2, "nothing to change"},
	{"calendar update c", 2, "--file"},

	// Values.
	{"job create x --interval-type Fortnights", 2, "--interval-type"},
	{"job create x --interval-type Days --interval-count 0", 2, "Invalid --interval-count 0: want at least 1."},
	{"job create x --interval-count many", 2, "--interval-count"},
	{"job create x --start-time tomorrow", 2, "--start-time"},
	{"job update j --start-time 2030-01-02 --end-time 2030-01-01", 2, "it ends"},
	{"job create jobagent$x", 2, "reserved"},
	{"job start j --execution-id 12", 2, "--execution-id"},
	{"job start j --param tenant", 2, "--param"},
	{"job start j --param-json n=x", 2, "--param-json"},
	{"job start j --param a=1 --param a=2", 2, "given twice"},
	{"job start j --params-file LATIN1", 2, "not valid UTF-8 at byte"},
	{"job start j --params-file NOFILE", 2, "no such file"},
	{"job start j --only-targets Tennant1", 3, "no member of the job's target groups: Tennant1"},
	{"job start j --only-targets other/a", 6, "1 of the 1 chosen targets matches no database"},
	{"job start j --only-targets @NOFILE", 2, "no such file"},
	{"job start j --params-file CRON", 2, "--params-file"},
	{"step add j --command x", 2, "target-group"},
	{"step add j --target-group g", 2, "the command is missing"},
	{"step add j --target-group g --file LATIN1", 2, "not valid UTF-8 at byte 10: want UTF-8, or UTF-16 with a byte order mark"},
	{"step add j --target-group g --file NUL", 2, "a zero byte"},
	{"step add j --target-group g --file UTF16", 2, "UTF-16 without a byte order mark"},
	{"step add j --target-group g --file VOID", 2, "Missing command: --file is missing or empty"},
	{"step add j --target-group g --file NOFILE", 2, "no such file"},
	{"step add j --target-group g --command EMPTY", 2, "--command"},
	{"step add j --target-group g --command x --file CRON", 2, "cannot be combined"},
	{"step add j --target-group nope --command x", 3, "jobagent target-group list"},
	{"step add j --target-group g --command x --retry-attempts=-1", 2, "Invalid --retry-attempts -1: want at least 0."},
	{"step add j --target-group g --command x --timeout 0", 2, "Invalid --timeout 0"},
	{"step add j --target-group g --command x --timeout soon", 2, "--timeout"},
	{"step add j --target-group g --command x --retry-interval-multiplier 0.5", 2, "Invalid --retry-interval-multiplier"},
	{"step add j --target-group g --command x --retry-interval-multiplier 1e39", 2, `--retry-interval-multiplier: invalid number "1e39": want at most 3.4e38`},
	{"step update j 1 --retry-interval-multiplier NaN", 2, `--retry-interval-multiplier: invalid number "NaN": want one such as 1.5`},
	{"target-group add g --server s;Encrypt=no", 2, "--server"},
	{"step add j --target-group g --command x --initial-retry-interval 0", 2, "Invalid --initial-retry-interval 0"},
	{"step add j --target-group g --command x --max-parallelism 0", 2, "Invalid --max-parallelism 0"},
	{"step add j --target-group g --command x --output-type Csv", 2, "--output-type"},
	{"step add j --target-group g --command x --output-table t", 2, "needs --output-server, --output-database and --output-table"},
	{"step add j --target-group g --command x --step-id 9", 2, "Invalid --step-id 9: want 1 to 3"},
	{"step add j --target-group g --command x --name third --after nope", 3, "which --after names"},
	{"step add j --target-group g --command x --run-when Never", 2, "--run-when"},
	{"step add j --http GET", 2, "needs one URL"},
	{"step add j --http GET ftp://x", 2, "invalid action"},
	{"step add j --header a:b --command x --target-group g", 2, "--header needs --http"},
	{"step add j --command-file CRON", 2, "CRON"},
	{"step add j --command-type Perl --command x --target-group g", 2, "--command-type"},
	{"step update j --timeout 5", 2, "want --step-id or --step-name"},
	{"step update j --step-id 9 --timeout 5", 3, "no step 9"},
	{"step update j --step-name nope --timeout 5", 3, "no step named"},
	{"step update j --step-id 1 --new-name second", 6, "second"},
	{"step delete j", 2, "want --step-id or --step-name"},
	{"step delete j --step-id 9", 3, "no step 9"},
	{"step show j --step-id 9", 3, `no step with the ID 9; jobagent step list JOB shows its steps`},
	{"step show j --step-name Größe", 3, `no step named "Größe"; jobagent step list JOB shows its steps`},
	{"question show 99", 3, "question 99 does not exist"},
	{"question ask SELECT~1 --target-group g", 6, "To switch them on, an administrator sets the setting 'questions' to 1 (jobagent setting set). Members"},
	{"rollout show " + run1, 3, "is not a roll-out, or has not begun"},
	{"rollout resume " + run1, 3, "jobagent rollout list shows all roll-outs"},
	{"rollout undo " + noRun, 3, "is not a roll-out, or has not begun"},
	{"rollout show j", 2, `not a GUID, nor the first 4 or more of its hexadecimal digits; jobagent rollout list shows the latest roll-outs`},
	{"rollout approve 00000000-0000-0000-0000-000000000000", 2, "the zero GUID belongs to no roll-out; jobagent rollout list"},
	{"target window set w --calendar c --server s", 2, "want both --server and --database, or --tag-filter"},
	{"target window set w --calendar c", 2, "want --tag-filter, or --server and --database"},
	{"target pause s d --until 2020-01-01", 2, "Invalid --until: want a time in the future (UTC)"},
	{"question ask SELECT~1 --target-group g --timeout 11m", 6, "switched off"},
	{"job trigger add j x", 2, "missing --after"},
	{"job trigger show j nope", 3, "nope"},
	{"target window delete nope", 3, "jobagent target window list shows all windows"},
	{"drift baseline delete nope", 3, "nope"},
	{"step options j --step-id 1", 2, "want --on-unknown-outcome"},
	{"step options j --step-id 1 --on-unknown-outcome Await", 2, "only actions"},
	{"target-group add g --server bad~server;x=1", 2, "invalid server name"},
	{"target-group add g --server sql1,port", 2, "invalid server name"},
	{"target-group add g --server *.example.com", 2, "invalid server name"},
	{"target-group add g --server EMPTY", 2, "--server is empty"},
	{"target-group add g --server s --elastic-pool p --database d", 2, "does not belong"},
	{"target-group add g", 2, "--server"},
	{"schedule add j x", 2, "the definition is missing"},
	{"schedule add j x --cron5 61~*~*~*~*", 2, "cron.minute"},
	{"schedule add j x --cron5 nonsense", 2, "cron"},
	{"schedule add j x --rrule FREQ=SOMETIMES", 2, "FREQ"},
	{"schedule add j x --systemd Moon~09:00", 2, "invalid systemd.weekday"},
	{"schedule add j x --systemd EMPTY", 2, "systemd"},
	{"schedule add j x --systemd daily~Europe/Berlin --zone UTC", 2, "the same zone as the given one"},
	{"schedule add j x --eventbridge cron(0~9~*~*~*~*)", 2, "? in exactly one"},
	{"schedule add j x --groc every~fortnight", 2, "invalid groc.schedule"},
	{"schedule add j x --airflow None", 2, "started by hand"},
	{"schedule add j x --iso8601 P1M15D", 2, "months alone"},
	{"schedule add j x --iso8601 PT1H --systemd daily", 2, "cannot be combined"},
	{"schedule update j s --systemd 25:00", 2, "invalid systemd.hour"},
	{"schedule add j x --cron5 rate(5~minutes)", 2, "AWS EventBridge"},
	{"schedule add j x --cron5 0~9~*~*~1-5~root~/bin/backup", 2, "jobagent import crontab"},
	{"schedule add j x --cron5 0~0~*~*~* --cron6 0~0~0~*~*~*", 2, "cannot be combined"},
	{"schedule add j x --cron5 0~0~*~*~* --overlap Sometimes", 2, "verlap"},
	{"schedule add j x --cron5 0~0~*~*~* --time-zone Mars/Base", 2, "Mars/Base"},
	{"schedule add j x --cron5 0~0~*~*~* --zone CET", 2, "CET is an abbreviation"},
	{"schedule add j x --cron5 0~0~*~*~* --zone Tokio~Standard~Time", 2, "try Tokyo Standard Time"},
	{"schedule zones Mars/Base", 3, "no zone matches"},
	{"schedule zones Berln", 3, "try Europe/Berlin"},
	{"schedule zones --limit 0", 2, "--limit"},
	{"schedule zones a b", 2, "too many arguments"},
	{"schedule add j x --kind cron5", 2, "--file"},
	{"schedule add j x --kind cron5 --spec LATIN1", 2, "not valid UTF-8"},
	{"schedule add j x --kind cron9 --spec CRON", 2, "cron9"},
	{"schedule preview --kind cron5 --spec VOID", 2, "cron"},
	{"schedule preview --kind cron5 --spec CRON --limit 0", 2, "--limit"},
	{"schedule update j s --cron5 nope", 2, "cron"},
	{"schedule update j s --new-name minutes", 6, "one named"},
	{"schedule backfill j minutes --from 1900-01-01 --to 2026-01-01", 2, "more than 1000 runs are due"},
	{"schedule backfill j minutes --from 2020-01-01 --to 2020-01-02 --max-runs 0", 2, "--max-runs"},
	{"schedule backfill j minutes --from 2020-01-01T00:00:10Z --to 2020-01-01T00:00:20Z", 2, "nothing is due from"},
	{"schedule backfill j minutes --from 2020-01-01~00:00 --to 2020-01-01~12:00", 2, "This starts 721 runs"},
	{"schedule backfill j minutes --from 2020-01-02 --to 2020-01-01", 2, "is before --from"},
	{"schedule backfill j minutes --from 2020-01-01 --to 2999-01-01 --yes", 2, "is in the future"},
	{"schedule backfill j s --from 2020-01-01 --to 2999-01-01", 2, "is in the future"},
	{"schedule backfill j s --from yesterday --to 2020-01-01", 2, "--from"},
	{"schedule backfill j s --from 2020-01-01", 2, "--to"},
	{"schedule delete j EMPTY", 2, "SCHEDULE is empty"},
	{"calendar add x --spec CRON", 2, ""},
	{"calendar add x --spec LATIN1", 2, "not valid UTF-8"},
	{"calendar add x --spec NOFILE", 2, "no such file"},
	{"calendar add EMPTY --spec CALENDAR", 2, "CALENDAR is empty"},
	{"history purge j --before never", 2, "--before"},
	{"history purge j --before EMPTY", 2, "--before"},
	{"execution list --limit 0", 2, "--limit"},
	{"execution list --limit many", 2, "--limit"},
	{"execution list --lifecycle Nope", 2, "--lifecycle"},
	{"execution rerun " + run1 + " --only Nope", 2, "--only"},
	{"execution rerun " + run1 + " --targets Tennant1", 3, "not in the run: Tennant1"},
	{"execution rerun " + run1 + " --targets ,", 2, "--targets is empty: want at least one database"},
	{"execution rerun " + run1 + " --execution-id x", 2, "--execution-id"},
	{"execution complete " + run1, 2, "--succeeded"},
	{"execution complete " + run1 + " --succeeded --failed", 2, "--"},
	{"execution complete " + run1 + " --succeeded --target x/y", 3, "jobagent execution callbacks shows"},
	{"limit set Planet x 5", 2, "SCOPE"},
	{"limit set Job j 0", 2, "invalid limit"},
	{"limit set Job j many", 2, "invalid limit"},
	{"limit set Job j 5 --server s", 2, "Unexpected --server"},
	{"limit set Agent x 5", 2, "the limit of scope Agent has the name '*'"},
	{"alert rule add x Sometimes", 2, "CONDITION"},
	{"alert rule add x TargetsFailed", 2, "Missing --percent"},
	{"alert rule add x TargetsFailed --percent 200", 2, "Invalid --percent"},
	{"alert rule add x RunEnded --severity Grave", 2, "--severity"},
	{"alert rule add x RunEnded --job j --jobs n*", 2, "--job and --jobs cannot be combined"},
	{"alert rule add x RunEnded --channel nope", 3, "nope"},
	{"alert rule add x RunEnded --throttle=-1", 2, "Invalid --throttle"},
	{"alert rule add x RunTooLong --runs 1", 2, "Invalid --runs"},
	{"alert mute failed --for 1s", 2, "--for"},
	{"alert test", 2, "--alert"},
	{"alert channel add x Pigeon {}", 2, "TYPE"},
	{"alert channel add x Http nope", 2, "DEFINITION"},
	{"alert channel add x Http @LATIN1", 2, "not valid UTF-8"},
	{"alert channel add x Mail {}", 2, ""},
	{"secret set api", 2, "--host"},
	{"secret set api --host a --any-host", 2, "exclude each other"},
	{"secret set api --host a.example.com --from hunter2", 2, "--from"},
	{"secret set api --host a.example.com --from file:LATIN1", 2, "not valid UTF-8"},
	{"secret set 1api --host a.example.com --from file:CRON", 6, "jobagent key generate"},
	{"key rotate", 2, "no private key"},
	{"key rotate --key hunter2", 2, "--key"},
	{"key generate CRON", 6, "exists already: want the name of a new one"},
	{"key generate NOFILE/key", 2, "no such file"},
	{"setting set nope 1", 3, "The setting 'nope' does not exist. Settings are "},
	{"setting set history_retention_day 1", 3, `did you mean "history_retention_days"?`},
	{"setting reset nope", 3, "does not exist"},
	{"setting set history_retention_days many", 2, "want a whole number"},
	{"setting set history_retention_days 100000", 2, "want "},
	{"token create x", 2, "no token file"},
	{"token create x --role king --scope / --file TOKENS", 2, "king"},
	{"token create x --role reader --file TOKENS", 2, "belong together"},
	{"token create x --expires yesterday --file TOKENS", 2, "--expires"},
	{"token revoke --file TOKENS", 2, "--expired"},
	{"token revoke nope --file TOKENS", 3, "jobagent token list shows all tokens"},
	{"account create a --sku Small", 2, "sku"},
	{"account create a --capacity many", 2, "--capacity"},
	{"account create a --tag x", 2, "--tag"},
	{"account create a --database other", 2, "other"},
	{"action check NOFILE", 2, "no such file"},
	{"action check LATIN1", 2, "not valid UTF-8"},
	{"action try NOFILE", 2, "no such file"},
	{"import azure-scheduler CRON", 2, "CRON"},
	{"import icalendar CRON", 2, "invalid iCalendar at line 1"},
	{"import icalendar LATIN1", 2, "not valid UTF-8"},
	{"import icalendar CALENDAR", 2, "iCalendar"},
	{"import icalendar VOID --zone Berlin", 2, "--zone"},
	{"import quartz --prefix a-b", 2, "--prefix"},
	{"import quartz --zone Berlin", 2, "--zone"},
	{"import sap LATIN1", 2, "not valid UTF-8"},
	{"import task-scheduler CRON", 2, "has no task"},
	{"import task-scheduler LATIN1", 2, "not valid UTF-8"},
	{"import task-scheduler CRON --zone Berlin", 2, "--zone"},
	{"import crontab NOFILE", 2, "no such file"},
	{"import crontab VOID", 2, "no line"},
	{"import crontab CALENDAR", 2, "JSON"},
	{"import crontab VOID --zone Mars/Base", 2, "--zone"},
	{"import crontab VOID --scripts NOFILE", 2, "--scripts"},
	{"import crontab VOID --system=perhaps", 2, "--system"},
	{"import kubernetes NOFILE", 2, "no such file"},
	{"import kubernetes VOID", 2, "no CronJob"},
	{"import kubernetes CALENDAR", 2, "no CronJob"},
	{"import kubernetes VOID --zone Mars/Base", 2, "--zone"},
	{"audit list --limit 0", 2, "--limit"},

	// Durations, which have one form.
	{"step add j --command x --target-group g --timeout 30x", 2, "invalid --timeout \"30x\": want a duration"},
	{"step add j --command x --target-group g --timeout 1500ms", 2, "want whole seconds"},
	{"step add j --command x --target-group g --timeout 99999d", 2, "want at most"},
	{"step add j --command x --target-group g --timeout EMPTY", 2, "--timeout"},
	{"step add j --command x --target-group g --timeout 99999999999999999999", 2, "--timeout"},
	{"step update j --step-id 1 --timeout soon", 2, "invalid --timeout \"soon\""},
	{"step update j --step-id 1 --initial-retry-interval 1y", 2, "--initial-retry-interval"},
	{"step update j --step-id 1 --maximum-retry-interval half", 2, "--maximum-retry-interval"},
	{"job start j --wait --wait-timeout 5y", 2, "invalid --wait-timeout \"5y\": want a duration"},
	{"execution watch " + run1 + " --wait-timeout now", 2, "--wait-timeout"},
	{"alert rule add x RunNotStarted --seconds never", 2, "--seconds"},
	{"alert rule add x RunNotStarted --seconds 10ms", 2, "want whole seconds"},
	{"alert rule add x RunEnded --throttle daily", 2, "--throttle"},
	{"alert rule update failed --repeat 1h-2m", 2, "--repeat"},
	{"alert mute failed --for 90", 2, "want a unit, such as 90m, 90h or 90d"},
	{"alert mute failed --for long", 2, "--for"},
	{"alert test hook --wait x", 2, "--wait"},
	{"execution list --since 7", 2, "want a unit, such as 7h or 7d"},
	{"execution list --since 7y", 2, "--since"},
	{"token create x --expires 90y --file TOKENS", 2, "want a duration such as 90d"},
	{"token create x --expires -5d --file TOKENS", 2, "--expires"},
	{"token create x --expires 90 --file TOKENS", 2, "want a duration such as 90d"},
	{"rollout extend " + run1 + " 2", 2, "want a unit, such as 2m, 2h or 2d"},
	{"run --lease 5y", 2, "--lease"},
	{"top --interval often", 2, "--interval"},

	// Rules of alerts, under both names.
	{"alert rule nonsense", 2, "nonsense"},
	{"alert rule add EMPTY RunEnded", 2, "RULE is empty"},
	{"alert rule add x Sometimes", 2, "CONDITION"},
	{"alert rule add failed RunEnded", 6, "jobagent alert rule update"},
	{"alert rule add x TargetsFailed", 2, "Missing --percent"},
	{"alert rule add x RunEnded --lifecycle Running", 2, "--lifecycle"},
	{"alert rule add x RunEnded --job nope", 3, "nope"},
	{"alert rule update nope --severity Info", 3, "does not exist"},
	{"alert rule update failed", 2, "nothing to change"},
	{"alert rule delete nope", 3, "jobagent alert rule list shows all"},
	{"alert rule delete nope --yes", 3, "does not exist"},
	{"alert rule list a b", 2, "too many arguments"},

	// Files, which have one flag.
	{"schedule preview --kind cron5 --file NOFILE", 2, "no such file"},
	{"schedule preview --kind cron5 --file VOID", 2, "cron"},
	{"schedule add j x --kind cron5 --file LATIN1", 2, "not valid UTF-8"},
	{"schedule add j x --file CRON", 2, "--kind and --file must be given together"},
	{"schedule add j x --kind cron5 --file 0~2~*~*~*", 2, "want the name of a file"},
	{"calendar add x", 2, "missing flag --file"},
	{"calendar add x --file NOFILE", 2, "no such file"},
	{"calendar update c --file LATIN1", 2, "not valid UTF-8"},
	{"export --prune", 2, "give --dir"},
	{"export --dir DATA --prune --job j", 2, "cannot be combined"},
	{"export --dir CRON", 2, "CRON"},

	// Commands of sqlcmd.
	{"step add j --command :setvar~db~shop --target-group g", 2, "--command: line 1: :setvar is a command of sqlcmd"},
	{"step add j --command :r~x.sql --target-group g", 2, ":r is a command of sqlcmd"},
	{"step add j --file SQLCMD --target-group g", 2, "line 2: :setvar is a command of sqlcmd"},
	{"step update j --step-id 1 --file SQLCMD", 2, ":setvar is a command of sqlcmd"},
	{"step update j --step-id 1 --command :on~error~exit", 2, ":on is a command of sqlcmd"},

	// Scripts of SQL Server Agent, and files as the result.
	{"import sql-agent SSMS", 2, "give --server"},
	{"import sql-agent NOFILE --server s", 2, "no such file"},
	{"import sql-agent LATIN1 --server s", 2, "not valid UTF-8"},
	{"import sql-agent VOID --server s", 2, "no job of SQL Server Agent"},
	{"import sql-agent CALENDAR --server s", 2, "no job of SQL Server Agent"},
	{"import sql-agent SSMS --server s --zone Mars/Base", 2, "--zone"},
	{"import sql-agent SSMS --server s --job nope", 3, "the scripts have no job \"nope\""},
	{"import sql-agent SSMS --server s --as xml", 2, "want tsql or yaml"},
	{"import sql-agent SSMS --server s --as yaml --dir DATA", 2, "--dir and --as are both given"},
	{"import sql-agent SSMS --server s --dir CRON", 2, "CRON"},
	{"import sql-agent SSMS --server s --admin-database EMPTY", 2, "--admin-database is empty"},
	{"import sql-agent UNENDED --server s", 2, "line 1: the string has no end"},
	{"import crontab CRON --as sql", 2, "want tsql or yaml"},
	{"import crontab CRON --keep-commands=perhaps", 2, "--keep-commands"},

	// One vocabulary.
	{"execution list --lifecycle Runnin", 2, "did you mean Running?"},
	{"execution targets " + run1 + " --lifecycle Walking", 2, "--lifecycle"},
	{"execution outcomes --limit 0", 2, "--limit 0: it must be from 1 to 20000 databases"},
	{"execution outcomes --target-group nope", 3, "nope"},
	{"execution outcomes --job nope", 3, "nope"},
	{"execution outcomes --target nope", 3, "no run that is kept has the database"},

	// Whole command lines.
	{"nonsense", 2, "nonsense"},
	{"job nonsense", 2, "nonsense"},
	{"job list extra", 2, "extra"},
	{"job list --nonsense", 2, "nonsense"},
	{"job list -o xml", 2, "xml"},
	{"job list --log-level banana", 2, "--log-level"},
	{"job list --color purple", 2, "purple"},
	{"job list --dsn garbage", 2, "invalid connection string: want sqlserver://"},
	{"job list --dsn postgres://u:p@h/db", 2, "of another product"},
	{"job list --dsn sqlserver://u:p@h", 2, "database"},
	{"job list --dsn sqlserver://u:p@h?database=master", 2, "master"},
	{"job list --dsn file:NOFILE", 2, "no such file"},
	{"job list --dsn env:JOBAGENT_TEST_UNSET", 2, "JOBAGENT_TEST_UNSET"},
	{"job list --context nope", 3, "nope"},
	{"job list --config NOFILE", 2, "no such file"},
	{"job list --config VOID", 2, "the file is empty"},
	{"job list --config LATIN1", 2, "not valid UTF-8"},
	{"job list --config BADCONFIG", 2, "line 2, column 10: dsn: want a text, found a number"},
	{"dev --listen 127.0.0.1:notaport --data DATA", 2, "notaport"},
	{"dev --max-connections 0 --data DATA", 2, "connections"},
	{"run --agent-id x", 2, "agent-id"},
	{"serve --listen nowhere --check", 2, "nowhere"},
}

// snapshot reads all definitions, and how many runs and entries of the audit log there are.
func snapshot(t *testing.T, db *sql.DB) string {
	t.Helper()
	var b strings.Builder
	for _, table := range []string{"jobs", "job_versions", "job_steps", "job_step_dependencies", "step_commands", "target_groups", "target_group_members",
		"schedules", "schedule_backfills", "calendars", "limits", "alert_rules", "alert_channels", "secrets", "secret_keys", "job_agent", "settings"} {
		rows, err := db.QueryContext(t.Context(), "SELECT * FROM jobs_internal."+table+";")
		require.NoError(t, err, table)
		columns, err := rows.Columns()
		require.NoError(t, err)
		var list []string
		for rows.Next() {
			cells := make([]any, len(columns))
			for i := range cells {
				cells[i] = new(any)
			}
			require.NoError(t, rows.Scan(cells...))
			line := table
			for _, cell := range cells {
				line += fmt.Sprintf(" %v", *cell.(*any))
			}
			list = append(list, line)
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
		slices.Sort(list)
		b.WriteString(strings.Join(list, "\n") + "\n")
	}
	return b.String()
}

// changes counts the entries of the audit log and the runs. Each change makes one of them.
func changes(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(),
		"SELECT (SELECT COUNT(*) FROM jobs_internal.audit_entries) + (SELECT COUNT(*) FROM jobs_internal.job_executions);").Scan(&n))
	return n
}

// Wrong input has its exit code, one line on stderr that says what is wrong, nothing on stdout, and
// no effect.
func TestWrongInputs(t *testing.T) {
	server := clitest.Server(t)
	db, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	defer db.Close()
	dir := t.TempDir()
	t.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
	t.Setenv(config.EnvConfig, "")
	t.Setenv(contexts.EnvFile, filepath.Join(dir, "contexts.yaml"))
	replace := []string{"LONG", strings.Repeat("x", 129), "NOFILE", filepath.Join(dir, "none"), "TOKENS", filepath.Join(dir, "tokens.json"),
		"DATA", filepath.Join(dir, "data")}
	for name, text := range map[string]string{
		"CALENDAR": `{"dates": ["2030-12-24"]}`, "CRON": "0 2 * * *", "LATIN1": "SELECT N'z\xeb'", "NUL": "PRINT\x00", "UTF16": "S\x00E\x00", "VOID": "", "SQLCMD": "PRINT 1;\n:setvar db shop\n", "SSMS": "EXEC msdb.dbo.sp_add_job @job_name = N'a'", "UNENDED": "EXEC msdb.dbo.sp_add_job N'a",
		"BADCONFIG": "{\n  \"dsn\": 5\n}", "BLOCKED": `{"startTime": "2030-01-01T00:00:00Z", "recurrence": {"frequency": "day"}, "blackouts": {"mode": "skip", "calendars": ["c"]}}`,
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		replace = append(replace, name, path)
	}
	split := func(line string) (args []string) {
		words := strings.NewReplacer(append([]string{"~", " ", "EMPTY", ""}, replace...)...)
		for word := range strings.FieldsSeq(line) {
			args = append(args, words.Replace(word))
		}
		return args
	}
	for line := range strings.SplitSeq(strings.TrimSpace(wrongFixture), "\n") {
		var out strings.Builder
		require.Zero(t, Run(t.Context(), split(line), strings.NewReader(""), &out, &out), "%s: %s", line, &out)
	}

	before, entries := snapshot(t, db), changes(t, db)
	try := func(args []string, code int, want string, count bool) {
		var stdout, stderr strings.Builder
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		got := Run(ctx, args, strings.NewReader(""), &stdout, &stderr)
		if got != code || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") != 1 ||
			!strings.HasPrefix(stderr.String(), "error: ") {
			t.Errorf("jobagent %q: exit code %d, stdout %q, stderr %q; want %d and %q", args, got, stdout.String(), stderr.String(), code, want)
		}
		if n := entries; count && changes(t, db) != n {
			t.Errorf("jobagent %q changed something", args)
			entries = changes(t, db)
		}
	}
	for _, c := range wrongInputs {
		try(split(c.line), c.code, c.want, true)
	}
	generated := generatedInputs()
	for _, args := range generated {
		try(args.args, 2, args.want, false)
	}
	require.Greater(t, len(wrongInputs), 270)
	require.Greater(t, len(generated), 120)
	require.Equal(t, before, snapshot(t, db))
	require.Equal(t, entries, changes(t, db))
}

// generatedInput is a command line with a part of its error.
type generatedInput struct {
	args []string
	want string
}

// generatedInputs returns, for every flag that is neither a text nor a switch, a text that it does
// not accept. TestFaultyFlags and TestFaultyArguments have the texts, and TestExitCodes has unknown
// flags, so that no flag is without a case.
func generatedInputs() (list []generatedInput) {
	eachCommand(func(cmd *cobra.Command) {
		if cmd.HasSubCommands() {
			return
		}
		path := strings.Fields(cmd.CommandPath())[1:]
		for _, word := range values.Words(cmd) {
			path = append(path, fitting(word))
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "bool" || strings.HasPrefix(f.Value.Type(), "string") {
				return
			}
			list = append(list, generatedInput{append(slices.Clone(path), "--"+f.Name+"=zo\xeb"), "--" + f.Name})
		})
	})
	return list
}
