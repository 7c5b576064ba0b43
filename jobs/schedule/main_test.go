package schedule

import (
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// Tests allocate much that is soon garbage. Collecting it less often saves a tenth of their time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m)
}
