//go:build linux

package process

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// helperArg is the first argument with which the test binary plays the process of a test.
const helperArg = "play-process"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == helperArg {
		os.Exit(play(os.Args[2], os.Args[3:]))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if left := leftProcesses(); code == 0 && len(left) > 0 {
			fmt.Fprintf(os.Stderr, "processes are left after the tests:\n%s\n", strings.Join(left, "\n"))
			code = 1
		}
		os.Exit(code)
	}))
}
