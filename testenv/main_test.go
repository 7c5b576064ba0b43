package testenv_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/kdc"
)

func TestMain(m *testing.M) {
	testenv.Overlap(4)
	goleak.VerifyTestMain(m, kdc.IgnoreReplayCache()...)
}
