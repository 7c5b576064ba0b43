package databases

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A comma before a port does not separate servers.
func TestNames(t *testing.T) {
	t.Parallel()
	for want, given := range map[string][]string{
		"a|b": {"a,b"}, "a,1433|b": {"a,1433, b"}, `a\x|b,1|c`: {`a\x,b,1`, "c"}, "1433": {"1433"}, "a|1433": {"a", "1433"}, "": {","},
	} {
		require.Equal(t, want, strings.Join((&Choice{Servers: given}).names(), "|"))
	}
}
