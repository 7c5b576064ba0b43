package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestTargetFlag(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "list.txt")
	require.NoError(t, os.WriteFile(file, []byte("\ufeffs/a\r\n\r\n  s,14333/b, c  \n"), 0o600))
	for _, tt := range []struct {
		text, stdin string
		want        []string
	}{
		{"", "", nil},
		{"a", "", []string{"a"}},
		{" a , s/b,,c/d", "", []string{"a", "s/b", "c/d"}},
		{"127.0.0.1,14333/a,b,s,1433/c", "", []string{"127.0.0.1,14333/a", "b", "s,1433/c"}},
		{"s/a,1433/b", "", []string{"s/a", "1433/b"}},
		{"@" + file, "", []string{"s/a", "s,14333/b, c"}},
		{"-", "a\nb\n", []string{"a", "b"}},
	} {
		var f TargetFlag
		cmd := &cobra.Command{}
		f.Add(cmd, "targets", "only these")
		require.NoError(t, cmd.Flags().Set("targets", tt.text))
		got, err := f.Read(strings.NewReader(tt.stdin))
		require.NoError(t, err, tt.text)
		require.Equal(t, tt.want, got, tt.text)
	}
	f := TargetFlag{name: "targets", text: " , "}
	_, err := f.Read(strings.NewReader(""))
	require.EqualError(t, err, "--targets is empty: want at least one database")
}
