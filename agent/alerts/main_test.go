package alerts_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv"
)

func TestMain(m *testing.M) {
	testenv.Overlap(8)
	goleak.VerifyTestMain(m)
}
