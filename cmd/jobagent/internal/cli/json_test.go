package cli_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/daemon"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
)

var writeJSON = flag.Bool("json.write", false, "TestJSONOutput writes testdata/json.golden instead of comparing it")

// jsonCommands run one after the other with -o json. A tilde stands for a blank within an argument,
// SERVER for the embedded server's name in target groups, GUIDn for the nth GUID of the output so
// far, and RUNn for an execution ID that the test chooses. The line "stop" stops the agent.
const jsonCommands = `
version
db install
db verify
db migrate
db migrate --plan
db grants --login a --role jobs_reader
target-group create g
target-group add g --server SERVER --database tenant
target-group add g --server SERVER --database missing --exclude
target-group show g
target-group list
target-group resolve g
target-group remove g GUID3
job create j --description text
job create k --interval-type Hours --interval-count 2 --start-time 2030-01-01 --end-time 2031-01-01
job update k --enabled=false
step add j --command PRINT~1; --target-group g --max-parallelism 2
step add j --command PRINT~2; --target-group g --name second --output-type= --credential c
step add j --command PRINT~1; --target-group g --name third
step delete j --step-name third
step update j --step-id 1 --timeout 60
step options j
step options j --step-id 1 --at-most-once
job parameter set j tenant --required --description which
job parameter set j days --type integer --choice 7 --choice 30 --default 7
job parameter set j gone
job parameter delete j gone
job parameter list j
job list
job show j
job enable k
job disable k
step list j
step list nope
step delete j --step-name second
limit set Job j 5
limit set ElasticPool p 5 --server s
limit remove ElasticPool p --server s
job start j --wait --execution-id RUN1 --param tenant=x --param days=30
job parameter delete j tenant
job parameter delete j days
limit list
alert channel add hook http {"url":"ENDPOINT/","allow_http":true}
alert channel add hook http {"url":"ENDPOINT/","allow_http":true}
alert channel add mail mail {"host":"h"}
alert channel update hook --enabled=false
alert channel update hook --enabled
alert channel list
alert test hook
alert test nowhere
alert rule add failed RunEnded --job j --channel hook --severity critical
alert rule add share TargetsFailed --percent 200
alert rule add slow RunTooLong --factor 3
alert rule update slow --jobs n*
alert mute failed --for 1h --note moving
alert mute failed --off
alert rule list
alert list
alert history
alert show 1
alert ack 1
alert ack x
alert rule delete slow
alert rule delete failed
alert channel delete hook
execution list
execution list --job nope
execution list --job j --trigger Manual --since 1d --jq .[].targets.total
execution list --target TENANT --limit 1
execution list --target nope
execution list --target a --active
execution show RUN1 --messages
execution watch RUN1
execution errors RUN1
execution explain RUN1
execution logs 00000000-0000-4000-8000-000000000001
execution logs RUN1 --step-id 2
execution stop RUN1
execution stop RUN5
execution retry-now RUN1
execution retry-now RUN5
execution give-up RUN1 --step-id 1 --target s/d
job create f
step add f --command RAISERROR('no',16,1); --target-group g --retry-attempts 0
job start f --execution-id RUN2 --wait
execution errors RUN2
execution targets RUN2
execution outcomes --target-group g
execution outcomes --target-group g --job f --lacking --jq .[].outcome
execution outcomes --search nope
execution explain RUN2
execution rerun RUN2 --execution-id RUN3
execution watch RUN3
execution show RUN2 --failed --step-id 1
execution show RUN3 --messages
execution show RUN5
job start k
job start j --execution-id RUN4
execution watch RUN4
job stop k
job create async
step add async --http POST ENDPOINT --allow-http --callback
job start async --execution-id RUN6
waiting RUN6
execution callbacks RUN6
execution complete RUN6
execution complete RUN6 --succeeded --failed
execution complete RUN6 --succeeded --target 1
execution complete RUN6 --succeeded --message done --step-id 1 --target GUIDLAST
execution watch RUN6
execution complete RUN6 --failed
execution callbacks RUN1
execution callbacks RUN5
execution complete RUN5 --succeeded
calendar add c --spec CALENDAR
calendar update c --spec CALENDAR
calendar list
calendar show c
calendar show d
schedule preview --kind cron5 --spec CRON --after 2030-01-01T00:00:00Z --count 2
schedule preview --kind cron5 --spec CALENDAR
schedule preview --systemd Mon..Fri~09:00 --after 2030-01-01T00:00:00Z --count 2
schedule preview --eventbridge rate(0~days)
schedule zones etc/utc
schedule add j s --cron5 0~0~1~1~* --time-zone Europe/Berlin --wait --param-json n=1
schedule add j bad --cron5 61~*~*~*~*
schedule add j months --iso8601 R/2030-01-01T00:00:00Z/P1M
schedule delete j months
schedule update j s --overlap AllAll
schedule update j s --overlap AllowAll --wait
schedule list --job j
schedule backfill j s --from 2018-01-02 --to 2019-01-02 --wait
stop
schedule disable j s
schedule enable j s
schedule pause j s --note why
schedule explain j s
schedule explain j
schedule resume j s
schedule backfill j s --from 2019-12-31 --to 2020-01-02
schedule show j s
schedule cancel-backfill 2
schedule delete j s
calendar delete c
script k
validate -f DEFINITIONS
validate -f CRON
diff -f CRON
diff -f DEFINITIONS
apply -f DEFINITIONS --dry-run
apply -f DEFINITIONS
apply -f DEFINITIONS
diff -f DEFINITIONS
diff -f CHANGED
apply -f CHANGED
export --job filed
export --dir EXPORTED --job filed
export --job nope
history purge j --before 2020-01-01
job stop RUN1
job delete k
target-group create empty
target-group delete empty
import azure-scheduler AZURE
action check ACTION
action check AZURE --type Process
job create actions
step add actions --http GET https://example.com/
step show actions
key generate KEYFILE
secret set api --host *.example.com --host process:export --from file:VALUE
secret list
key list
key rotate --key file:KEYFILE
secret delete api
token create pipeline --role operator --scope / --expires 2099-01-01T00:00:00Z --file TOKENS
token create pipeline --file TOKENS
token list --file TOKENS
token revoke pipeline --file TOKENS
token revoke pipeline --file TOKENS
token list --file TOKENS
token hash --generate
serve --check
audit list --job k --limit 3
audit list --action sp_set_secret
audit list --who nobody
account list
account create a1 --sku JA200 --tag k=v
account create a1
account create a2
account create a2 --database nope
account show a1
account show a2
account update a1 --capacity 7 --tag x=1 --tag y=2
account update a1 --sku S1
account update a2 --capacity 7
account update a1 --tag x
account disable a1 --reason repairs
job start j
account enable a1
account delete a1
account delete a1
account list
agent status
db pause --reason disks
schedule delete filed nightly --yes
db after-restore --yes
db resume --skip-until 2026-03-01T02:45:00Z
`

// definitions are files for apply.
const definitions = `
apiVersion: jobagent/v1
kind: TargetGroup
name: filed
members:
  - server: sql1
    database: a
---
apiVersion: jobagent/v1
kind: Job
name: filed
schedules:
  - {name: nightly, cron5: "0 2 * * *", zone: UTC}
steps:
  - {name: first, target_group: filed, command: PRINT 1}
`

var (
	guid    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	instant = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
	// prose matches values that differ between machines, and sentences, which may change.
	prose = regexp.MustCompile(
		`("(?:host_name|host|delivered_by|version|(?:last_)?message|reason|end_reason|explanation|where|sql|script|description|key_id|public_key|file|token_id|token|hash|secret|engine|zone_data)": ?)"(?:[^"\\]|\\.)*"`)
	// randomID matches the IDs of static tokens in lists.
	randomID  = regexp.MustCompile(`"[0-9a-f]{16}"`)
	entryID   = regexp.MustCompile(`("(?:entry_id|duration_ms)": )\d+`) // another command would move all of them
	obstacles = regexp.MustCompile(`(?s)("obstacles": \[).*?(\n *\])`)
)

// The JSON of all commands except those with a server of their own stays the same, byte for byte.
// GUIDs, instants, machine names and sentences are replaced.
func TestJSONOutput(t *testing.T) {
	t.Setenv(config.EnvConfig, "")
	server := clitest.Server(t)
	servers, err := server.OpenServers(t.Context())
	require.NoError(t, err)
	defer servers.Close()
	tools, err := connect.NewTools(t.Context(), server.Store, servers)
	require.NoError(t, err)
	endpoint := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer endpoint.Close()
	actions, err := connect.NewActions(config.File{}, "test", true)
	require.NoError(t, err)
	defer actions.Close()
	tools.Actions = actions.Actions
	stop, _ := daemon.Start(t.Context(), agent.Config{Grace: -1}, server.Store, tools, zap.NewNop())
	master, err := server.Open("master")
	require.NoError(t, err)
	defer master.Close()
	_, err = master.ExecContext(t.Context(), "CREATE DATABASE tenant;")
	require.NoError(t, err)

	dir := t.TempDir()
	t.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
	require.NoError(t, server.WriteConfig(dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, embedded.TargetPasswordFile), []byte(server.TargetPassword), 0o600))
	t.Setenv(config.EnvConfig, filepath.Join(dir, embedded.ConfigFile))
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	words := strings.NewReplacer(
		"~", " ", "SERVER", server.ServerName(), "ENDPOINT", endpoint.URL, "RUN", "00000000-0000-4000-8000-00000000000",
		"CALENDAR", file("calendar", `{"dates": ["2030-12-24"]}`), "CRON", file("cron", "0 2 * * *"),
		"KEYFILE", filepath.Join(dir, "key"), "TOKENS", filepath.Join(dir, "tokens.json"), "VALUE", file("value", "hunter2"),
		"DEFINITIONS", file("definitions.yaml", definitions), "CHANGED", file("changed.yaml", strings.ReplaceAll(definitions, "PRINT 1", "PRINT 2")),
		"EXPORTED", filepath.Join(dir, "exported"),
		"ACTION", file("action", `{"url": "https://example.com/$(run_id)"}`),
		"AZURE", file("azure", `[{"id": "/x/jobs/a", "properties": {"action": {"type": "http", "request": {"uri": "http://x", "method": "GET"}}}}]`))

	var b strings.Builder
	var guids []string
	for _, line := range strings.Split(strings.TrimSpace(jsonCommands), "\n") {
		if line == "stop" {
			require.NoError(t, stop())
			continue
		}
		var args []string
		for word := range strings.FieldsSeq(line) {
			if word == "GUIDLAST" {
				word = guids[len(guids)-1]
			} else if n, ok := strings.CutPrefix(word, "GUID"); ok {
				i, err := strconv.Atoi(n)
				require.NoError(t, err)
				word = guids[i-1]
			}
			args = append(args, words.Replace(word))
		}
		if args[0] == "waiting" {
			requireWaiting(t, server.Store, uuid.MustParse(args[1]))
			continue
		}
		var stdout, stderr strings.Builder
		code := cli.Run(t.Context(), append(args, "-o", "json"), strings.NewReader(""), &stdout, &stderr)
		if stdout.Len() > 0 && !slices.Contains(args, "--jq") {
			requireShape(t, args, stdout.String())
		}
		text := guid.ReplaceAllStringFunc(stdout.String(), func(id string) string {
			if !slices.Contains(guids, id) {
				guids = append(guids, id)
			}
			return fmt.Sprintf("GUID%d", slices.Index(guids, id)+1)
		})
		text = strings.ReplaceAll(instant.ReplaceAllString(text, "TIME"), server.ServerName(), "SERVER")
		text = strings.ReplaceAll(text, dir, "DIR")
		text = strings.ReplaceAll(text, endpoint.Listener.Addr().String(), "ENDPOINT")
		text = obstacles.ReplaceAllString(prose.ReplaceAllString(text, `$1"…"`), `$1 … $2`)
		text = entryID.ReplaceAllString(text, `$1…`)
		text = randomID.ReplaceAllString(text, `"…"`)
		fmt.Fprintf(&b, "> %s\n%s", line, text)
		if code != 0 {
			fmt.Fprintf(&b, "exit code %d\n", code)
		}
	}
	golden := filepath.Join("testdata", "json.golden")
	if *writeJSON {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

// requireWaiting waits until an action of a run waits for its callback.
func requireWaiting(t *testing.T, store *controldb.Store, run uuid.UUID) {
	t.Helper()
	require.Eventually(t, func() bool {
		callbacks, err := store.Callbacks(t.Context(), run)
		require.NoError(t, err)
		return len(callbacks) == 1 && callbacks[0].State == controldb.CallbackWaiting
	}, 30*time.Second, 20*time.Millisecond)
}

// requireShape fails unless text has a shape that output.Shapes lists for the command.
func requireShape(t *testing.T, args []string, text string) {
	t.Helper()
	tried := 0
	for _, shape := range output.Shapes {
		name := strings.Fields(shape.Command)
		refusal := name[0] == "schedule,"
		if n := min(len(name), 2); !refusal && (len(args) < n || !slices.Equal(name[:n], args[:n])) {
			continue
		}
		tried++
		value := reflect.New(reflect.TypeOf(shape.Value))
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		if decoder.Decode(value.Interface()) != nil {
			continue
		}
		var again, got, want bytes.Buffer
		require.NoError(t, output.WriteJSON(&again, value.Interface()))
		require.NoError(t, json.Compact(&want, again.Bytes()))
		require.NoError(t, json.Compact(&got, []byte(text)))
		if strings.TrimSpace(got.String()) == strings.TrimSpace(want.String()) {
			return
		}
	}
	t.Errorf("jobagent %s prints none of the %d shapes that output.Shapes has for it:\n%s", strings.Join(args, " "),
		tried, text)
}
