//go:build unix

package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/daemon"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
)

// go test ./cmd/jobagent -run TestLiveLoad -live.load 1m -v
var liveLoad = flag.Duration("live.load", 0, "how long TestLiveLoad watches a run of 10,000 targets")

// terminalCommand is the command in a pseudo terminal, with the screen that a user sees.
type terminalCommand struct {
	cmd    *exec.Cmd
	tty    *os.File
	ended  chan struct{} // closed when the terminal has ended
	mu     sync.Mutex
	screen *vt.Emulator // guarded by mu
}

// startInTerminal starts the command in a terminal of this size.
func startInTerminal(t *testing.T, dsn string, width, height int, args ...string) *terminalCommand {
	t.Helper()
	c := &terminalCommand{ended: make(chan struct{}), screen: vt.NewEmulator(width, height), cmd: exec.Command(os.Args[0], args...)}
	c.cmd.Env = append(os.Environ(), envBeCommand+"=1", "JOBAGENT_DSN="+dsn, "TERM=xterm-256color", "CI=", "NO_COLOR=")
	var err error
	c.tty, err = pty.StartWithSize(c.cmd, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)})
	require.NoError(t, err)
	answers := make(chan struct{})
	go func() { // what a terminal would answer; ends when the screen is closed
		defer close(answers)
		_, _ = io.Copy(io.Discard, c.screen)
	}()
	go func() { // ends with the process, at an error of the terminal
		defer close(c.ended)
		chunk := make([]byte, 32<<10)
		for {
			n, err := c.tty.Read(chunk)
			c.mu.Lock()
			_, _ = c.screen.Write(chunk[:n])
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.ended
		require.NoError(t, c.screen.Close())
		<-answers
		require.NoError(t, c.tty.Close())
	})
	return c
}

// text is the current screen.
func (c *terminalCommand) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for line := range strings.SplitSeq(c.screen.String(), "\n") {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// await waits until the screen shows all of the texts.
func (c *terminalCommand) await(t *testing.T, texts ...string) string {
	t.Helper()
	var last string
	require.Eventually(t, func() bool {
		last = c.text()
		for _, text := range texts {
			if !strings.Contains(last, text) {
				return false
			}
		}
		return true
	}, 20*time.Second, 20*time.Millisecond, "%v does not appear", texts)
	return last
}

// resize changes the size of the terminal.
func (c *terminalCommand) resize(t *testing.T, width, height int) {
	t.Helper()
	c.mu.Lock()
	c.screen.Resize(width, height)
	c.mu.Unlock()
	require.NoError(t, pty.Setsize(c.tty, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}))
}

// code waits for the end of the command and returns its exit code.
func (c *terminalCommand) code(t *testing.T) int {
	t.Helper()
	<-c.ended
	err := c.cmd.Wait()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return failed.ExitCode()
	}
	require.NoError(t, err)
	return 0
}

// execAll runs batches of T-SQL in a database of the server.
func execAll(t *testing.T, server *embedded.Server, database string, batches ...string) {
	t.Helper()
	db, err := server.Open(database)
	require.NoError(t, err)
	defer func(db *sql.DB) { require.NoError(t, db.Close()) }(db)
	for _, batch := range batches {
		_, err := db.ExecContext(t.Context(), batch)
		require.NoError(t, err, batch)
	}
}

// startServer starts an embedded server; start starts an agent, which ends with the test.
func startServer(t *testing.T) (server *embedded.Server, start func()) {
	t.Helper()
	server = clitest.Server(t)
	servers, err := server.OpenServers(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	return server, func() {
		tools, err := connect.NewTools(t.Context(), server.Store, servers)
		require.NoError(t, err)
		actions, err := connect.NewActions(config.File{}, "", true)
		require.NoError(t, err)
		tools.Actions = actions.Actions
		stop, _ := daemon.Start(context.WithoutCancel(t.Context()), agent.Config{Grace: -1}, server.Store, tools, zap.NewNop())
		t.Cleanup(func() { require.NoError(t, stop()) })
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	server, startAgent := startServer(t)
	t.Run("on a terminal", func(t *testing.T) { waitOnATerminal(t, server, startAgent) })
	t.Run("for nothing", func(t *testing.T) { waitForNothing(t, server) })
}

// A user waits for a run on a terminal: no agent is alive, then one is; the terminal is resized;
// Ctrl-C ends the command and not the run, which a second command watches to its end.
func waitOnATerminal(t *testing.T, server *embedded.Server, startAgent func()) {
	t.Helper()
	execAll(t, server, "master", "CREATE DATABASE one; CREATE DATABASE two;")
	execAll(t, server, embedded.ControlDatabase, "EXEC jobs.sp_add_target_group @target_group_name = N'g';",
		fmt.Sprintf(`EXEC jobs.sp_add_target_group_member @target_group_name = N'g', @target_type = N'SqlDatabase', @server_name = N'%[1]s', @database_name = N'one';
EXEC jobs.sp_add_target_group_member @target_group_name = N'g', @target_type = N'SqlDatabase', @server_name = N'%[1]s', @database_name = N'two';`, server.ServerName()),
		"EXEC jobs.sp_add_job @job_name = N'load';",
		"EXEC jobs.sp_add_jobstep @job_name = N'load', @step_name = N'wait', @target_group_name = N'g', @command = N'WHILE OBJECT_ID(N''dbo.go_on'') IS NULL WAITFOR DELAY ''00:00:00.05'';';")
	dsn := server.DSN(embedded.ControlDatabase)
	id := uuid.NewString()

	began := time.Now()
	c := startInTerminal(t, dsn, 80, 24, "job", "start", "load", "--wait", "--execution-id", id)
	c.await(t, "run "+id+" of job load started", "no agent is alive: nothing moves until one starts: jobagent run")
	require.Less(t, time.Since(began), 2*time.Second)
	startAgent()
	c.await(t, "▶ running", "2 running", "0 of 2 targets", "1 wait")
	require.NotContains(t, c.text(), "no agent")
	require.NotContains(t, c.text(), "waiting", "a column for which 80 cells have no room")
	c.resize(t, 130, 30)
	c.await(t, "running  waiting    time")
	c.resize(t, 40, 20)
	c.await(t, "STEPS"+strings.Repeat(" ", 31)+"done\n")

	c.resize(t, 130, 30) // the lines that Ctrl-C prints have room
	c.await(t, "running  waiting    time")
	_, err := c.tty.Write([]byte{3}) // Ctrl-C
	require.NoError(t, err)
	require.Equal(t, exit.CodeInterrupted, c.code(t))
	text := c.text()
	for _, want := range []string{"0 of 2", "interrupted; run " + id + " goes on", "jobagent execution watch " + id, "jobagent job stop " + id} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "error:")

	c = startInTerminal(t, dsn, 80, 24, "execution", "watch", id)
	c.await(t, "2 running")
	execAll(t, server, "one", "CREATE TABLE dbo.go_on (i INT);")
	execAll(t, server, "two", "CREATE TABLE dbo.go_on (i INT);")
	require.Zero(t, c.code(t))
	c.await(t, "✓ Succeeded", "2 of 2 targets", "└─ step 1 on g  Succeeded", "   ├─ ", "   └─ ")
}

// If all targets of a run were skipped, --wait reports it, with exit code 7.
func waitForNothing(t *testing.T, server *embedded.Server) {
	t.Helper()
	execAll(t, server, embedded.ControlDatabase, "EXEC jobs.sp_add_target_group @target_group_name = N'empty'; EXEC jobs.sp_add_job @job_name = N'none';",
		"EXEC jobs.sp_add_jobstep @job_name = N'none', @target_group_name = N'empty', @command = N'SELECT 1;';")
	cases := []struct {
		args string
		code int
		want string
	}{
		{"--wait", exit.CodeRunFailed, "error: run .* ended as Succeeded, but no target ran: its target groups have no targets"},
		{"--wait --allow-skipped -o json", 0, "warning: no target ran"},
		{"--wait --progress none", exit.CodeRunFailed, "but no target ran"},
		{"--allow-skipped", exit.CodeUsage, "--allow-skipped needs --wait"},
		{"--wait-timeout 5s", exit.CodeUsage, "--wait-timeout needs --wait"},
		{"--wait --wait-timeout 1ns", exit.CodeWaitTimeout, "goes on\n  to watch it: jobagent execution watch "},
	}
	commands := make([]*exec.Cmd, len(cases))
	printed := make([]bytes.Buffer, len(cases))
	for i, c := range cases { // all at once: most of the time is that of processes that start
		cmd := exec.Command(os.Args[0], append([]string{"job", "start", "none"}, strings.Fields(c.args)...)...)
		cmd.Env = append(os.Environ(), envBeCommand+"=1", "JOBAGENT_DSN="+server.DSN(embedded.ControlDatabase))
		cmd.Stderr = &printed[i]
		require.NoError(t, cmd.Start())
		commands[i] = cmd
	}
	for i, c := range cases {
		_ = commands[i].Wait()
		stderr := printed[i].String()
		require.Equal(t, c.code, commands[i].ProcessState.ExitCode(), "%s: %s", c.args, stderr)
		require.Regexp(t, c.want, stderr, c.args)
		require.NotContains(t, stderr, "\x1b")
	}
}

// A command that watches a run of 10,000 targets in progress uses less than 5 % of a processor. The
// targets are calls of an endpoint that does not answer.
func TestLiveLoad(t *testing.T) {
	if *liveLoad == 0 {
		t.Skip("a measurement of a minute: give -live.load 60s")
	}
	server, startAgent := startServer(t)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer endpoint.Close()
	store, ctx := server.Store, t.Context()
	_, err := targetgroups.On(store).Add(ctx, "big")
	require.NoError(t, err)
	for n := range 10_000 {
		_, err := targetgroups.On(store).AddMember(ctx, "big", targets.Member{
			Membership: targets.Include, Kind: targets.SQLDatabase, Server: server.ServerName(), Database: fmt.Sprintf("tenant%05d", n),
		})
		require.NoError(t, err)
	}
	definition := action.Definition{Type: action.TypeHTTP, HTTP: &action.HTTP{
		Method: http.MethodPost, URL: endpoint.URL + "/$(database_name)", AllowHTTP: true, Success: action.Success{Preset: action.PresetWebhook},
	}}
	execAll(t, server, embedded.ControlDatabase, "EXEC jobs.sp_add_job @job_name = N'big';",
		"EXEC jobs.sp_add_jobstep @job_name = N'big', @command_type = N'Http', @target_group_name = N'big', @step_timeout_seconds = 3600, @command = N'"+
			strings.ReplaceAll(definition.Encode(), "'", "''")+"';")
	startAgent()
	id, err := executions.On(store).StartJob(ctx, "big", uuid.Nil)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		w, err := executions.On(store).Get(ctx, id, executions.States)
		require.NoError(t, err)
		return w.Counts().Total() == 10_000 && len(w.Steps[0].States) > 1
	}, 2*time.Minute, time.Second, "the run is in progress")

	c := startInTerminal(t, server.DSN(embedded.ControlDatabase), 140, 40, "execution", "watch", id.String(), "--wait-timeout", liveLoad.String())
	text := c.await(t, "of 10 000 targets", "running")
	require.Equal(t, exit.CodeWaitTimeout, c.code(t))
	used := processorTime(c.cmd.ProcessState)
	share := 100 * used.Seconds() / liveLoad.Seconds()
	t.Logf("%s\nwatched for %s: %s of a processor's time, %.2f %% of a core", text, *liveLoad, used, share)
	require.Less(t, share, 5.0)
	require.NoError(t, executions.On(store).Stop(ctx, id))
}

// processorTime is what a process that has ended has used.
func processorTime(state *os.ProcessState) time.Duration {
	u, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
