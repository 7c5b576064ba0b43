package definitions

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/agent/web/page"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTemplates: the templates of all pages can be parsed.
func TestTemplates(t *testing.T) {
	t.Parallel()
	set := Set()
	templates, err := page.Parse(set.Files, nil)
	require.NoError(t, err)
	for _, name := range []string{"jobs", "job", "version", "diff", "schedules", "schedule", "groups", "group"} {
		require.NotNil(t, templates.Lookup(name+".html"), name)
	}
}
