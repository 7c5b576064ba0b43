package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/bounded"
)

// A file and standard input are read up to the limit, and refused beyond it.
func TestReadFile(t *testing.T) {
	t.Parallel()
	most := strings.Repeat("a", bounded.MaxFile)
	file := filepath.Join(t.TempDir(), "f")
	for _, c := range []struct{ text, fault string }{
		{most, ""},
		{most + "a", ": it is too long: at most 16 MB are read"},
	} {
		require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
		for name, source := range map[string]string{file: file, "standard input": "-"} {
			text, err := ReadText(source, strings.NewReader(c.text))
			if c.fault != "" {
				require.EqualError(t, err, name+c.fault)
				continue
			}
			require.NoError(t, err)
			require.Len(t, text, len(c.text))
		}
	}
	// The input has no end: no more than the limit is read.
	_, err := ReadFile("-", endless{})
	require.ErrorContains(t, err, "too long")
	_, err = ReadFile(file+".none", nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// endless reads zeros.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
