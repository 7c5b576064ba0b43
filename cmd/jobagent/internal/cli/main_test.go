package cli

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
)

func TestMain(m *testing.M) {
	if err := os.Setenv(contexts.EnvFile, os.DevNull); err != nil { // not those of the person who tests
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
