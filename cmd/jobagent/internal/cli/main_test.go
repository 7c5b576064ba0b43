package cli

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
)

func TestMain(m *testing.M) {
	if err := os.Setenv(contexts.EnvFile, os.DevNull); err != nil { // not those of the person who tests
		panic(err)
	}
	for _, name := range []string{config.EnvDSN, config.EnvConfig} {
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
	// Commands bound the memory of their process. Here they share one with servers and all tests,
	// so the collector would run without end.
	if err := os.Setenv("GOMEMLIMIT", "off"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
