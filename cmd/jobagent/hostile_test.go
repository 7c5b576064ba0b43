package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv/hostile"
)

var (
	hostileProcesses = flag.Bool("hostile.processes", false,
		"run TestHostileProcesses: an agent process against every hostile target, some ten minutes")
	hostileAtOnce = flag.Bool("hostile.at-once", false, "TestHostileProcesses runs all modes at once only")
	hostilePort   = flag.Int("hostile.port", 24400, "the first port of the hostile targets of TestHostileProcesses")
)

// maxResident is the limit of an agent's resident memory, whatever its targets do.
const maxResident = 200 << 20

// agentProcess is a running `jobagent run`.
type agentProcess struct {
	cmd *exec.Cmd
	log bytes.Buffer
}

// resident returns the process's resident memory.
func (p *agentProcess) resident(t *testing.T) int64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	require.NoError(t, err, "the agent is gone:\n%s", p.log.String())
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if kb, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(kb), " kB"), 10, 64)
			require.NoError(t, err)
			return n << 10
		}
	}
	t.Fatalf("the agent has no memory: it has ended\n%s", p.log.String())
	return 0
}

// An agent process connects to hostile targets over TCP, one after the other and all at once, with
// and without output, beside forty healthy targets. The test prints a table.
func TestHostileProcesses(t *testing.T) {
	if !*hostileProcesses {
		t.Skip("takes minutes; set -hostile.processes to run it")
	}
	const healthy, limit = 40, 5
	server, err := embedded.Start(t.Context(), "", fmt.Sprintf("127.0.0.1:%d", *hostilePort), "Play-w1th-it", "disable",
		zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	master, err := server.Open("master")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, master.Close()) })

	comma := strings.Replace(server.Address, ":", ",", 1)
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("Play-w1th-it"), 0o600))
	text, err := json.Marshal(map[string]any{
		"targets": map[string]any{"encrypt": "disable", "connect_timeout": "6s", "default_credential": "job",
			"allow_control_database": true},
		"credentials": []map[string]any{{"name": "job", "servers": []string{"*"}, "user": "sa", "secret": "file:" + secret}},
	})
	require.NoError(t, err)
	file := filepath.Join(dir, "config.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	agent := &agentProcess{cmd: exec.Command(os.Args[0], "run", "--config", file, "--grace", "1s")}
	agent.cmd.Env = append(os.Environ(), envBeCommand+"=1", config.EnvDSN+"="+server.DSN(embedded.ControlDatabase))
	agent.cmd.Stderr = &agent.log
	require.NoError(t, agent.cmd.Start())
	t.Cleanup(func() {
		_ = agent.cmd.Process.Kill()
		_ = agent.cmd.Wait()
	})

	define := func(group, job string, output bool, members ...targets.Member) {
		_, err := targetgroups.On(server.Store).Add(t.Context(), group)
		require.NoError(t, err)
		for _, m := range members {
			_, err := targetgroups.On(server.Store).AddMember(t.Context(), group, m)
			require.NoError(t, err)
		}
		_, err = catalog.On(server.Store).AddJob(t.Context(), model.JobSpec{Name: job})
		require.NoError(t, err)
		seconds, none := limit, 0
		step := model.StepSpec{JobName: job, Command: new("/* EXEC script */ SELECT 1 AS a;"), TargetGroup: new(group),
			Timeout: &seconds, RetryAttempts: &none}
		if output {
			kind, host, database, table := "SqlDatabase", comma, "out", "t"
			step.Output = &model.OutputSpec{Type: &kind, Server: &host, Database: &database, Table: &table}
		}
		_, err = catalog.On(server.Store).AddJobStep(t.Context(), step)
		require.NoError(t, err)
	}
	// run runs a job. It returns the rows of the targets, the duration, and the agent's maximum
	// memory meanwhile.
	run := func(job string) (rows []executions.Execution, took time.Duration, most int64) {
		start := time.Now()
		id, err := executions.On(server.Store).StartJob(t.Context(), job, uuid.Nil)
		require.NoError(t, err)
		for tick := time.NewTicker(100 * time.Millisecond); ; <-tick.C {
			most = max(most, agent.resident(t))
			rows, err = executions.On(server.Store).Rows(t.Context(), id)
			require.NoError(t, err)
			if !rows[0].Active {
				tick.Stop()
				return rows, time.Since(start), most
			}
			require.Less(t, time.Since(start), (limit+22+20)*time.Second, "the run does not end:\n%s", agent.log.String())
		}
	}

	_, err = master.ExecContext(t.Context(), "CREATE DATABASE out;")
	require.NoError(t, err)
	var fleet, enemies []targets.Member
	for i := range healthy {
		name := fmt.Sprintf("healthy%d", i)
		_, err := master.ExecContext(t.Context(), "CREATE DATABASE "+name+";")
		require.NoError(t, err)
		fleet = append(fleet, targets.Member{Kind: targets.SQLDatabase, Server: comma, Database: name})
	}
	define("healthy", "healthy", false, fleet...)
	fedauth := hostile.Streams()[0]
	modes := append(hostile.Modes(), hostile.Of(fedauth))
	for i, mode := range modes {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *hostilePort+1+i))
		require.NoError(t, err)
		s := hostile.New(mode)
		go s.Serve(listener)
		t.Cleanup(func() {
			_ = listener.Close()
			s.Close()
		})
		enemies = append(enemies, targets.Member{Kind: targets.SQLDatabase,
			Server: fmt.Sprintf("127.0.0.1,%d", *hostilePort+1+i), Database: "d"})
		define(mode.Name, mode.Name, false, enemies[i])
		define(mode.Name+" (output)", mode.Name+" (output)", true, enemies[i])
	}
	define("all", "all", false, append(fleet[:healthy:healthy], enemies...)...)
	define("all (output)", "all (output)", true, enemies...)
	var hundred []targets.Member // one per worker, with large rows
	for i, mode := range modes {
		switch mode.Name {
		case "values of 1 MB", "held value", "messages of 30 KB", "wide result sets":
			for n := range 25 {
				m := enemies[i]
				m.Database = fmt.Sprintf("d%d", n)
				hundred = append(hundred, m)
			}
		}
	}
	define("a hundred (output)", "a hundred (output)", true, hundred...)

	run("healthy")
	t.Logf("%-60s %-10s %8s %8s", "mode", "state", "time", "MB")
	for _, mode := range modes {
		if *hostileAtOnce {
			break
		}
		for _, job := range []string{mode.Name, mode.Name + " (output)"} {
			rows, took, most := run(job)
			last := rows[len(rows)-1]
			t.Logf("%-60s %-10s %7.1fs %8d", job, last.Lifecycle, took.Seconds(), most>>20)
			require.LessOrEqual(t, took, (limit+22)*time.Second, last.LastMessage)
			require.Less(t, most, int64(maxResident), job)
		}
	}
	for _, job := range []string{"all", "all (output)", "a hundred (output)"} {
		rows, took, most := run(job)
		states := map[string]int{}
		for _, e := range rows {
			if strings.HasPrefix(e.Database, "healthy") {
				require.Equal(t, "Succeeded", string(e.Lifecycle), e.LastMessage)
				states["healthy Succeeded"]++
			} else if e.TargetType == "SqlDatabase" {
				states[string(e.Lifecycle)]++
			}
		}
		t.Logf("%-60s %-10s %7.1fs %8d  %v", job, rows[0].Lifecycle, took.Seconds(), most>>20, states)
		require.Less(t, most, int64(maxResident), job)
	}
	control, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	defer control.Close()
	var terms int
	require.NoError(t, control.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM jobs_internal.terms;").Scan(&terms))
	require.Equal(t, 1, terms, "the agent has kept its term")
}
