package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFileName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a/b  c.": "a-b-c", ".ä_1.x": "ä_1.x", "": "object-", "???": "object-", "console": "console", "nul": "object-nul", "Com7.old": "object-Com7.old", "LPT10": "LPT10",
	} {
		assert.Equal(t, want, FileName(name), "%q", name)
	}
}
