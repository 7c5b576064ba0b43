package action

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/parameters"
)

func TestTaskOptions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"": 1 << 30, `{}`: 1 << 30, `{"memory_in_mb":null}`: 1 << 30, `{"disk_in_mb":1,"command":"rm -rf /"}`: 1 << 30,
		`{"memory_in_mb":1}`: 1 << 20, `{"memory_in_mb":2048}`: 2 << 30, `{"memory_in_mb":1073741824}`: 1 << 50,
		`{"memory_in_mb":"2048"}`: -1, `{"memory_in_mb":0}`: -1, `{"memory_in_mb":-1}`: -1, `{"memory_in_mb":1.5}`: -1, `{"memory_in_mb":true}`: -1,
		`{"memory_in_mb":[1]}`: -1, `{"memory_in_mb":1073741825}`: -1, `{"memory_in_mb":1e3}`: -1, `{"memory_in_mb":99999999999999999999}`: -1,
	} {
		options, err := parameters.Parse(text)
		require.NoError(t, err)
		p := Process{Entry: "task"}
		err = p.ApplyTaskOptions(options)
		if want < 0 {
			var faults *Faults
			require.ErrorAs(t, err, &faults, text)
			require.ErrorContains(t, err, "$.memory_in_mb", text)
			want = 0
		} else {
			require.NoError(t, err, text)
		}
		require.Equal(t, want, p.MaxMemory, text)
		require.Equal(t, "task", p.Entry)
	}
}
