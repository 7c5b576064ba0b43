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
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
)

// envBeCommand makes the test binary behave as the command jobagent: tests that kill a process start themselves so.
const envBeCommand = "JOBAGENT_TEST_BE_COMMAND"

// TestMain makes the test binary the command jobagent for the scripts and for tests that start processes.
func TestMain(m *testing.M) {
	if os.Getenv(envBeCommand) != "" {
		main()
	}
	testscript.Main(m, map[string]func(){
		"jobagent": func() {
			os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

// TestScripts runs the commands as a user's shell does, against an embedded server with an agent that all scripts share. Each
// script has the server's address in $SERVER, a connection string in $JOBAGENT_DSN, and names that are its own by $WORK's last part.
func TestScripts(t *testing.T) {
	server, err := startEmbedded(t.Context(), "", "127.0.0.1:0", randomPassword(), "disable", zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.close()) })
	data := t.TempDir() // as that of `jobagent dev`
	require.NoError(t, replaceFile(filepath.Join(data, targetPasswordFile), []byte(server.targetPassword)))
	require.NoError(t, server.writeConfig(data))
	servers, err := server.openServers(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	tools, err := newTools(t.Context(), server.store, servers)
	require.NoError(t, err)
	stop, _ := background(t.Context(), agent.Config{Grace: -1}, server.store, tools, zap.NewNop())
	t.Cleanup(func() { require.NoError(t, stop()) })

	var number atomic.Int64
	master, err := server.open("master")
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
			env.Setenv("JOBAGENT_DSN", server.dsn(controlDatabase))
			env.Setenv("JOBAGENT_CONFIG", filepath.Join(data, configFile))
			env.Setenv("EMPTY_DSN", server.dsn(database))
			env.Setenv("WRONG_PASSWORD_DSN", strings.Replace(server.dsn(controlDatabase), server.password, "wrong", 1))
			env.Setenv("SERVER", server.serverName())
			env.Setenv("DATABASE", database)
			env.Setenv("TENANT", tenant)
			return nil
		},
	})
}
