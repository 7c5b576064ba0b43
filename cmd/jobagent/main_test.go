package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/daemon"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
)

// envBeCommand makes the test binary behave as the command jobagent: tests that kill a process start themselves so.
const envBeCommand = "JOBAGENT_TEST_BE_COMMAND"

// TestMain makes the test binary the command jobagent for the scripts and for tests that start processes.
func TestMain(m *testing.M) {
	if os.Getenv(envBeCommand) != "" {
		main()
	}
	testscript.Main(leakChecker{m}, map[string]func(){
		"jobagent": func() {
			os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

// leakChecker runs the tests, and fails when they leave goroutines behind.
type leakChecker struct{ *testing.M }

// Run implements testscript.TestingM.
func (c leakChecker) Run() int {
	code := c.M.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// TestScripts runs the commands as a user's shell does, against an embedded server with an agent that all scripts share. Each
// script has the server's address in $SERVER, a connection string in $JOBAGENT_DSN, and names that are its own by $WORK's last part.
func TestScripts(t *testing.T) {
	server, err := embedded.Start(t.Context(), "", "127.0.0.1:0", embedded.RandomPassword(), "disable", zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	data := t.TempDir() // as that of `jobagent dev`
	require.NoError(t, embedded.ReplaceFile(filepath.Join(data, embedded.TargetPasswordFile), []byte(server.TargetPassword)))
	require.NoError(t, server.WriteConfig(data))
	servers, err := server.OpenServers(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	tools, err := connect.NewTools(t.Context(), server.Store, servers)
	require.NoError(t, err)
	stop, _ := daemon.Start(t.Context(), agent.Config{Grace: -1}, server.Store, tools, zap.NewNop())
	t.Cleanup(func() { require.NoError(t, stop()) })

	var number atomic.Int64
	master, err := server.Open("master")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, master.Close()) })
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			id := number.Add(1)
			database, tenant := fmt.Sprintf("cli%d", id), fmt.Sprintf("tenant%d", id)
			if _, err := master.ExecContext(t.Context(), "CREATE DATABASE "+database+"; CREATE DATABASE "+tenant+";"); err != nil {
				return err
			}
			env.Setenv("JOBAGENT_DSN", server.DSN(embedded.ControlDatabase))
			env.Setenv("JOBAGENT_CONFIG", filepath.Join(data, embedded.ConfigFile))
			env.Setenv("EMPTY_DSN", server.DSN(database))
			env.Setenv("WRONG_PASSWORD_DSN", strings.Replace(server.DSN(embedded.ControlDatabase), server.Password, "wrong", 1))
			env.Setenv("SERVER", server.ServerName())
			env.Setenv("DATABASE", database)
			env.Setenv("TENANT", tenant)
			return nil
		},
	})
}
