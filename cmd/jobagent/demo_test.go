package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	require.Equal(t, exit.CodeOK, cli.Run(t.Context(), []string{"demo", "--databases", "8", "-o", "json"}, nil, &stdout,
		&stderr), stderr.String())
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	var got output.DemoRun
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &got))
	require.Equal(t, "Failed", string(got.Lifecycle))
	require.Equal(t, 7, got.Targets.Total)
	require.Equal(t, 6, got.Targets.Succeeded)
	require.Equal(t, 1, got.Targets.Failed)
	require.Equal(t, 7+1+7+2, got.Attempts, "step 1 with one retry, step 2 with two retries of the broken tenant")
	require.NotZero(t, got.ElapsedMS)
	var summary struct {
		Job, Run string
		Failure  struct {
			Outcome, Target, Message string
			Attempts                 int
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.Received), &summary), got.Received)
	require.Equal(t, "Add order totals", summary.Job)
	require.Equal(t, got.ID.String(), summary.Run)
	require.Equal(t, "Failed", summary.Failure.Outcome)
	require.Contains(t, summary.Failure.Target, "Tenant0004")
	require.Contains(t, summary.Failure.Message, "Msg 245")
	require.Equal(t, 3, summary.Failure.Attempts)
}

// The demo of a roll-out stops at the bad database, and ends with all of it undone.
func TestDemoRollout(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	require.Equal(t, exit.CodeOK, cli.Run(clitest.Context(t), []string{"demo", "--rollout"}, nil, &stdout, &stderr), stderr.String())
	said := stdout.String() + stderr.String()
	for _, part := range []string{
		" 6 of 40 databases changed; Stopped. Wave 'next': 1 of 10 targets failed, and 0 may fail.", "In Tenant0007, somebody has lost the table",
		"jobagent rollout retry ", "13 of 40 databases changed; The wave 'rest' starts when somebody approves it.",
		"40 of 40 databases changed; Succeeded", "jobagent rollout undo ", "40 of 40 databases changed back; Succeeded", "The whole demo took",
	} {
		require.Contains(t, said, part)
	}

	stdout.Reset()
	require.Equal(t, exit.CodeOK, cli.Run(clitest.Context(t), []string{"demo", "--rollout", "-o", "json"}, nil, &stdout, &stderr), stderr.String())
	var got output.RolloutDetail
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &got), stdout.String())
	require.Equal(t, []any{"Succeeded", 40, 3}, []any{got.Rollout.State, got.Rollout.Succeeded, len(got.Waves)})
	require.Equal(t, exit.CodeUsage, cli.Run(t.Context(), []string{"demo", "--rollout", "--databases", "8"}, nil, &stdout, &stderr))
}

// On a terminal, demo --keep ends with commands that work as printed in another one.
func TestDemoKeep(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("on Windows the commands are for PowerShell, and github.com/creack/pty opens no pseudo terminal")
	}
	command := exec.Command(os.Args[0], "demo", "--databases", "12", "--keep")
	command.Env = append(os.Environ(), envBeCommand+"=1", "NO_COLOR=1", "TERM=xterm", contexts.EnvFile+"="+os.DevNull)
	tty, err := pty.StartWithSize(command, &pty.Winsize{Rows: 50, Cols: 200})
	require.NoError(t, err)
	defer tty.Close()
	ended := false
	defer func() {
		if !ended {
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	}()
	var screen strings.Builder
	lines := bufio.NewScanner(tty)
	for lines.Scan() && !strings.Contains(lines.Text(), "it fails again") {
		screen.WriteString(strings.TrimRight(lines.Text(), "\r") + "\n")
	}
	for _, part := range []string{
		"Tenant0004", "245", "n/a", "after 2 attempts", "TENANT", "step 3 on its endpoint", `"job": "Add order totals"`, "+6 more: 6 Succeeded",
	} {
		require.Contains(t, screen.String(), part)
	}
	_, printed, found := strings.Cut(screen.String(), "In a second terminal:\n")
	require.True(t, found, screen.String())
	require.Equal(t, 4, strings.Count(printed, "\n  "), printed)

	shell := exec.CommandContext(t.Context(), "sh", "-c", `jobagent() { "`+os.Args[0]+`" "$@"; echo "exit code $?"; }`+"\n"+printed)
	shell.Env = append(os.Environ(), envBeCommand+"=1", contexts.EnvFile+"="+os.DevNull, config.EnvConfig+"=")
	out, err := shell.CombinedOutput()
	require.NoError(t, err, string(out))
	var codes []string
	for line := range strings.Lines(string(out)) {
		if code, ok := strings.CutPrefix(line, "exit code "); ok {
			codes = append(codes, strings.TrimSpace(code))
		}
	}
	require.Equal(t, []string{"0", "7", "0"}, codes, string(out))
	require.Contains(t, string(out), "Conversion failed")
	require.Contains(t, string(out), "Add order totals")

	_, err = tty.Write([]byte{3}) // Ctrl-C
	require.NoError(t, err)
	for lines.Scan() { // until the process has closed the terminal
	}
	ended = true
	require.NoError(t, command.Wait())
}
