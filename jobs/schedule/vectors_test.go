package schedule

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// vector is one row of part e of the specification of schedules, or a further one in the same form.
type vector struct {
	ID, Kind, Spec, Start, After, Zone string
	Due, Started                       []string
	Exhausted                          bool
	Errors                             []struct{ Path, Value, Nearest string }
}

func readVectors(t testing.TB, file string) []vector {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var vectors []vector
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.NotEmpty(t, vectors)
	return vectors
}

// The command line's answer, because that is what the vectors are about.
func TestVectors(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"testdata/vectors.json", "testdata/further.json"} {
		for _, v := range readVectors(t, file) {
			t.Run(v.ID, func(t *testing.T) {
				t.Parallel()
				text, ok := PreviewJSON(Kind(v.Kind), []byte(v.Spec), PreviewOptions{Start: v.Start, After: v.After, Zone: v.Zone, Count: 5})
				require.True(t, ok, "%s", text)
				var got struct {
					Due, Started []string
					Exhausted    bool
				}
				require.NoError(t, json.Unmarshal(text, &got))
				if v.Due == nil {
					v.Due = []string{}
				}
				require.Equal(t, v.Due, got.Due)
				require.Equal(t, v.Exhausted, got.Exhausted)
				if v.Started != nil {
					require.Equal(t, v.Started, got.Started)
				}
			})
		}
	}
}
