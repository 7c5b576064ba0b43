package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/daemon"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/targets/secretref/privatefile"
	"github.com/jobagent/jobagent/testenv"
)

// envBeCommand makes the test binary run as the command jobagent, for tests that kill processes.
const envBeCommand = "JOBAGENT_TEST_BE_COMMAND"

// envBeServer makes the test binary run as an embedded server with a control database and without
// an agent. Its value is the data directory.
const envBeServer = "JOBAGENT_TEST_BE_SERVER"

// program is the name of the link by which scripts start the test binary as the command jobagent.
const program = "jobagent"

// envDSNFile names the file with the connection string of JOBAGENT_DSN, for inProcess.
const envDSNFile = "DSN_FILE"

// The variable of Go's memory limit, and its value for none.
const (
	envMemory = "GOMEMLIMIT"
	noLimit   = "off"
)

// TestMain runs the test binary as the command jobagent where scripts and tests start processes.
func TestMain(m *testing.M) {
	if os.Getenv(envBeCommand) != "" {
		if os.Getenv(envMemory) == noLimit { // the tests' limit, not the command's
			if err := os.Unsetenv(envMemory); err != nil {
				panic(err)
			}
		}
		main()
	}
	if os.Getenv(envBeServer) != "" {
		os.Exit(beServer())
	}
	if err := os.Setenv(contexts.EnvFile, os.DevNull); err != nil { // not those of the person who tests; processes inherit it
		panic(err)
	}
	// Commands bound the memory of their process. Here some share one with servers and all tests,
	// so the collector would run without end.
	if err := os.Setenv(envMemory, noLimit); err != nil {
		panic(err)
	}
	testenv.Overlap(6) // of processes
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == program {
		os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// beServer is the process that envBeServer starts. It prints the connection string of the control
// database, and ends when its standard input does. It returns the exit code.
func beServer() int {
	server, err := embedded.Start(context.Background(), os.Getenv(envBeServer), "127.0.0.1:0", embedded.RandomPassword(), "true", zap.NewNop())
	if err == nil {
		fmt.Println(server.DSN(embedded.ControlDatabase))
		_, err = io.Copy(io.Discard, os.Stdin)
		err = errors.Join(err, server.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestScripts runs the commands as a shell does, against an embedded server with an agent, which
// all scripts share. A script has the server's name in $SERVER, a connection string in
// $JOBAGENT_DSN, and databases of its own in $DATABASE and $TENANT.
//
// In a script, `exec jobagent` starts a process, which takes about 50 ms of processor time.
// `jobagent` runs a command in the process of the tests: see inProcess.
func TestScripts(t *testing.T) {
	t.Parallel()
	server := clitest.Server(t)
	data := t.TempDir() // like the data directory of `jobagent dev`
	require.NoError(t, privatefile.Replace(filepath.Join(data, embedded.TargetPasswordFile),
		[]byte(server.TargetPassword)))
	require.NoError(t, server.WriteConfig(data))
	servers, err := server.OpenServers(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	tools, err := connect.NewTools(t.Context(), server.Store, servers)
	require.NoError(t, err)
	stop, _ := daemon.Start(t.Context(), agent.Config{Grace: -1}, server.Store, tools, zap.NewNop())
	t.Cleanup(func() { require.NoError(t, stop()) })
	self, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	link := filepath.Join(bin, program)
	if runtime.GOOS == "windows" {
		link += ".exe"
	}
	require.NoError(t, os.Symlink(self, link))

	dsn := filepath.Join(data, "control.dsn") // a flag with a password causes a warning
	require.NoError(t, privatefile.Replace(dsn, []byte(server.DSN(embedded.ControlDatabase))))

	var number atomic.Int64
	master, err := server.Open("master")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, master.Close()) })
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){program: inProcess},
		Setup: func(env *testscript.Env) error {
			id := number.Add(1)
			database, tenant := fmt.Sprintf("cli%d", id), fmt.Sprintf("tenant%d", id)
			if _, err := master.ExecContext(t.Context(),
				"CREATE DATABASE "+database+"; CREATE DATABASE "+tenant+";"); err != nil {
				return err
			}
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv(envDSNFile, dsn)
			env.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
			env.Setenv(config.EnvConfig, filepath.Join(data, embedded.ConfigFile))
			env.Setenv("EMPTY_DSN", server.DSN(database))
			env.Setenv("WRONG_PASSWORD_DSN", strings.Replace(server.DSN(embedded.ControlDatabase), server.Password, "wrong", 1))
			env.Setenv("SERVER", server.ServerName())
			env.Setenv("DATABASE", database)
			env.Setenv("TENANT", tenant)
			return nil
		},
	})
}

// inProcess runs a command of a script in the process of the tests, without standard input, in the
// folder of the tests, and with no variable of the script but those of the control database and of
// the configuration, which it gives as flags. A command that needs more needs a process.
func inProcess(ts *testscript.TestScript, neg bool, args []string) {
	var settings []string
	if ts.Getenv(config.EnvDSN) != "" {
		settings = append(settings, "--dsn=file:"+ts.Getenv(envDSNFile))
	}
	if path := ts.Getenv(config.EnvConfig); path != "" {
		settings = append(settings, "--config="+path)
	}
	code := cli.Run(context.Background(), append(settings, args...), strings.NewReader(""), ts.Stdout(), ts.Stderr())
	if (code != 0) != neg {
		ts.Fatalf("exit code %d", code)
	}
}
