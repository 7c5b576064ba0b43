package runs_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv"
)

func TestMain(m *testing.M) {
	testenv.Overlap(4)
	goleak.VerifyTestMain(m)
}
