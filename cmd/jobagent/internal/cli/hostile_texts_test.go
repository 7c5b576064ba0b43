package cli_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/daemon"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/testenv"
)

// hostileCommands tries every command line, which takes minutes.
var hostileCommands = flag.Bool("hostile.commands", false, "try every flag and every format of each command, not three lines of each")

// hostileTexts are what a text from outside may do to a terminal: set the title, clear the screen,
// hide what follows, go back over the line, write to the clipboard, and turn the text round.
var hostileTexts = []string{
	"\x1b]0;title\x07", "\x1b[2J\x1b[H", "\x1b[8m", "\x1b]52;c;AAAA\x1b\\", "a\rb", "\b\b", "\x7f", "\u009b2J", "\u009d0;t\u009c",
	"\u202e", "\u2066", "\u200f", "\u061c", "\u200b", "\ufeff", "\u2028",
}

// hostileFixture makes an object of every kind, and a run with every kind of text in its history.
const hostileFixture = `
target-group create g
target-group add g --server SERVER --database tenant
job create j --description text
step add j --file SCRIPT --target-group g --retry-attempts 0
schedule add j s --cron5 0~0~1~1~*
calendar add c --spec CALENDAR
limit set Job j 5
alert channel add hook http {"url":"https://example.com/"}
alert rule add failed RunEnded --job j --channel hook
job start j --execution-id 00000000-0000-4000-8000-000000000001 --wait
`

// hostileColumns are the columns of names and descriptions, which only rows older than the rule of
// names can have with hostile characters.
var hostileColumns = []string{
	"jobs.name", "job_steps.step_name", "job_steps.target_group_name", "target_groups.name", "schedules.name", "calendars.name", "alert_channels.name",
	"alert_rules.name", "job_executions.started_by", "audit_entries.object_name", "agents.host_name", "agents.version",
}

// upperWords are the arguments in the use line of a command.
var upperWords = regexp.MustCompile(`[A-Z][A-Z_-]+`)

// TestHostileTextsOnTerminal gives hostile texts to every command, as names of objects, arguments,
// flags, paths and history, on a pseudo terminal. Nothing but printable characters, line feeds and
// tabs may arrive there.
func TestHostileTextsOnTerminal(t *testing.T) {
	testenv.Long(t)
	if runtime.GOOS == "windows" {
		t.Skip("github.com/creack/pty opens no pseudo terminal on Windows")
	}
	t.Setenv("NO_COLOR", "1") // no styles: no escape sequence is our own
	t.Setenv(config.EnvConfig, "")
	server := clitest.Server(t)
	servers, err := server.OpenServers(t.Context())
	require.NoError(t, err)
	defer servers.Close()
	tools, err := connect.NewTools(t.Context(), server.Store, servers)
	require.NoError(t, err)
	stop, _ := daemon.Start(t.Context(), agent.Config{Grace: -1}, server.Store, tools, zap.NewNop())
	master, err := server.Open("master")
	require.NoError(t, err)
	defer master.Close()
	_, err = master.ExecContext(t.Context(), "CREATE DATABASE tenant;")
	require.NoError(t, err)
	control, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	defer control.Close()

	all := strings.Join(hostileTexts, "")
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, all) }))
	defer endpoint.Close()
	dir := t.TempDir()
	t.Chdir(t.TempDir()) // some commands write files with hostile names
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	t.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
	require.NoError(t, server.WriteConfig(dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, embedded.TargetPasswordFile), []byte(server.TargetPassword), 0o600))
	t.Setenv(config.EnvConfig, filepath.Join(dir, embedded.ConfigFile))
	action := file("action.json", fmt.Sprintf(`{"url": %q, "allow_http": true}`, endpoint.URL))
	hostileFile := file("a\u202eb\x1b[2J", "jobs:\n- name: \""+`\u202e\e[2J`+"\"\n  nope: 1\n")
	words := strings.NewReplacer("~", " ", "SERVER", server.ServerName(), "CALENDAR", file("calendar", `{"dates": ["2030-12-24"]}`),
		"SCRIPT", file("script.sql", "PRINT N'p"+all+"';\nRAISERROR(N'e"+all+"', 16, 1);"))

	const run = "00000000-0000-4000-8000-000000000001"
	commands, texts := map[string]bool{}, 0
	try := func(limit time.Duration, args ...string) {
		screen := onTerminal(t, limit, append(args, "--progress=plain"))
		texts++
		for _, r := range screen {
			if r != '\n' && r != '\t' && terminal.Hostile(r) || r == utf8.RuneError && !utf8.ValidString(screen) {
				t.Errorf("jobagent %q: %q on the terminal:\n%q", args, r, screen)
				return
			}
		}
	}
	for line := range strings.SplitSeq(strings.TrimSpace(hostileFixture), "\n") {
		var args []string
		for word := range strings.FieldsSeq(line) {
			args = append(args, words.Replace(word))
		}
		try(time.Minute, args...)
	}
	require.NoError(t, stop())
	for _, column := range hostileColumns {
		table, name, _ := strings.Cut(column, ".")
		_, err := control.ExecContext(t.Context(), fmt.Sprintf("UPDATE x SET x.%s = LEFT(CONCAT(x.%[1]s, @p1), 100) FROM jobs_internal.%s AS x;", name, table), all)
		require.NoError(t, err, column)
	}
	shown := onTerminal(t, time.Minute, []string{"execution", "logs", run})
	require.Contains(t, shown, `\u001b]0;title\u0007`, "the history has the texts")

	// The arguments that name what exists; others are hostile.
	existing := map[string]string{
		"JOB": "j" + all, "GROUP": "g" + all, "SCHEDULE": "s" + all, "CALENDAR": "c" + all, "CHANNEL": "hook" + all, "ALERT": "failed" + all,
		"EXECUTION": run, "RUN": run, "FILE": hostileFile, "ID": run,
	}
	// These go on until they are interrupted, or take long.
	endless := []string{"jobagent demo", "jobagent dev", "jobagent run", "jobagent serve", "jobagent bench", "jobagent top"}
	// These wait for an agent, and none runs any more.
	waiting := []string{"jobagent alert test", "jobagent job preflight", "jobagent job trial"}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		path := cmd.CommandPath()
		if !cmd.Runnable() || cmd.HasSubCommands() || strings.HasPrefix(path, "jobagent completion") {
			return
		}
		commands[path] = true
		base := strings.Fields(path)[1:]
		places := upperWords.FindAllString(cmd.Use, -1)
		named, junk := slices.Clone(base), slices.Clone(base)
		for _, place := range places {
			value, ok := existing[place]
			if !ok {
				value = "x" + all
			}
			named, junk = append(named, value), append(junk, "y"+all)
		}
		limit := 20 * time.Second
		if slices.Contains(waiting, path) {
			limit = time.Second
		}
		if slices.ContainsFunc(endless, func(e string) bool { return strings.HasPrefix(path, e) }) {
			limit = 300 * time.Millisecond
			try(limit, append(slices.Clone(base), "z"+all)...)
			try(limit, append(slices.Clone(base), "--config=f"+all, "--dsn=file:f"+all)...)
			return
		}
		lines := [][]string{junk, append(slices.Clone(named), "--no"+all)}
		for _, format := range []string{"table", "json", "csv"} {
			lines = append(lines, append(slices.Clone(named), "-o", format))
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && f.Name != "progress" && f.Value.Type() != "bool" {
				lines = append(lines, append(slices.Clone(named), "--"+f.Name+"=f"+all))
			}
		})
		if !*hostileCommands {
			rand.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			lines = append([][]string{named}, lines[:2]...)
		}
		for _, line := range lines {
			try(limit, line...)
		}
	}
	walk(cli.Commands())
	try(20*time.Second, "action", "try", action)
	try(20*time.Second, "validate", hostileFile)
	try(20*time.Second, "nope"+all)
	cli.Commands().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "progress" {
			try(20*time.Second, "job", "list", "--"+f.Name+"=f"+all)
		}
	})
	t.Logf("%d commands, %d command lines, %d hostile texts in each", len(commands), texts, len(hostileTexts))
	require.Greater(t, len(commands), 100)
}

// onTerminal runs a command line on a pseudo terminal, at which a person answers no, and returns
// what the terminal got.
func onTerminal(t *testing.T, limit time.Duration, args []string) string {
	t.Helper()
	user, side, err := pty.Open()
	require.NoError(t, err)
	require.NoError(t, pty.Setsize(user, &pty.Winsize{Rows: 50, Cols: 200}))
	_, err = user.WriteString("n\n\x04\x04")
	require.NoError(t, err)
	got := make(chan string)
	go func() { // ends when the other side is closed
		text, _ := io.ReadAll(user)
		got <- string(text)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	cli.Run(ctx, args, side, side, side)
	cancel()
	require.NoError(t, side.Close())
	text := <-got
	require.NoError(t, user.Close())
	text = strings.TrimPrefix(text, "n\r\n^D\b\b^D\b\b") // the echo of the answer
	return strings.ReplaceAll(text, "\r\n", "\n")
}
