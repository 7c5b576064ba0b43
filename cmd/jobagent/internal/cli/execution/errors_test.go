package execution

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The same error of thousands of targets is a line that people can read; other formats have all.
func TestErrorsNameSomeTargets(t *testing.T) {
	t.Parallel()
	g := output.ErrorGroup{StepID: 1, State: "Failed", Message: "no", Count: 9000}
	for n := range g.Count {
		g.Targets = append(g.Targets, fmt.Sprintf("s/d%04d", n))
	}
	for format, last := range map[output.Format]string{
		output.FormatTable: "s/d0009 +8990 more  no", output.FormatWide: "s/d8999  no", output.FormatCSV: "s/d8999", output.FormatJSON: `"s/d8999"`,
	} {
		var b strings.Builder
		p := &output.Printer{Stdout: &b, Format: format}
		require.NoError(t, output.List(p, []output.ErrorGroup{g}, errorColumns(named(p))))
		require.Contains(t, b.String(), last, format)
	}
}
