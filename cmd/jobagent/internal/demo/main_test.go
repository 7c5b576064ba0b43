package demo_test

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
)

// envBeCommand makes the test binary run as the command jobagent, for a test that uses a shell.
const envBeCommand = "JOBAGENT_TEST_BE_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(envBeCommand) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}
