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
	"github.com/jobagent/jobagent/controldb/callbacks"
)

var writeJSON = flag.Bool("json.write", false, "TestJSONOutput writes testdata/json.golden instead of comparing it")

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
	entryID   = regexp.MustCompile(`("(?:entry_id|duration_ms|schema_version)": "?)\d+`) // another command, or migration, would move all of them
	obstacles = regexp.MustCompile(`(?s)("obstacles": \[).*?(\n *\])`)
)

// The JSON of all commands except those with a server of their own stays the same, byte for byte.
// GUIDs, instants, machine names and sentences are replaced.
//
// The lines of testdata/json.golden that begin with > are the commands; they run one after the
// other with -o json. A tilde stands for a blank within an argument, SERVER for the embedded
// server's name in target groups, GUIDn for the nth GUID of the output so far, and RUNn for an
// execution ID that the test chooses. The line "stop" stops the agent, and "waiting" waits for a
// callback.
func TestJSONOutput(t *testing.T) {
	t.Parallel()
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
	require.NoError(t, server.WriteConfig(dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, embedded.TargetPasswordFile), []byte(server.TargetPassword), 0o600))
	at := []string{"--dsn", server.DSN(embedded.ControlDatabase), "--config", filepath.Join(dir, embedded.ConfigFile)}
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
		"PLAN", file("plan.yaml", "waves:\n  - {name: canary, targets: 1}\n  - {name: rest, targets: rest, max_failed: 1%}\n"),
		"EXPORTED", filepath.Join(dir, "exported"), "KITDIR", filepath.Join(dir, "kit"),
		"ACTION", file("action", `{"url": "https://example.com/$(run_id)"}`),
		"AZURE", file("azure", `[{"id": "/x/jobs/a", "properties": {"action": {"type": "http", "request": {"uri": "http://x", "method": "GET"}}}}]`))

	golden := filepath.Join("testdata", "json.golden")
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	var b strings.Builder
	var guids []string
	for line := range strings.Lines(string(want)) {
		line, isCommand := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "> ")
		if !isCommand {
			continue
		}
		fmt.Fprintf(&b, "> %s\n", line)
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
		code := cli.Run(t.Context(), slices.Concat(at, args, []string{"-o", "json"}), strings.NewReader(""), &stdout, &stderr)
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
		b.WriteString(text)
		if code != 0 {
			fmt.Fprintf(&b, "exit code %d\n", code)
		}
	}
	require.Greater(t, strings.Count(b.String(), "> "), 180, "the commands of the file ran")
	if *writeJSON {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
		return
	}
	require.Equal(t, string(want), b.String())
}

// requireWaiting waits until an action of a run waits for its callback.
func requireWaiting(t *testing.T, store *controldb.Store, run uuid.UUID) {
	t.Helper()
	require.Eventually(t, func() bool {
		list, err := callbacks.On(store).OfRun(t.Context(), run)
		require.NoError(t, err)
		return len(list) == 1 && list[0].State == callbacks.CallbackWaiting
	}, 30*time.Second, 20*time.Millisecond)
}

// requireShape fails unless text has a shape that the command, or a group of it, declares.
func requireShape(t *testing.T, args []string, text string) {
	t.Helper()
	tried := cli.ShapesOf(args)
	for _, shape := range tried {
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
	t.Errorf("jobagent %s prints none of the %d shapes that it declares:\n%s", strings.Join(args, " "), len(tried), text)
}
