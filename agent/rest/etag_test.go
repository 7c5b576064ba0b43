package rest_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/internal/etag"
)

func TestExpect(t *testing.T) {
	t.Parallel()
	tag := etag.New("ID", 7)
	require.Equal(t, tag, etag.New("id", 7))
	require.NotEqual(t, tag, etag.New("id", 8))
	require.NotEqual(t, etag.New("id1", 1), etag.New("id", 11))
	for _, test := range []struct {
		match, none string
		revision    int64
		want        any // nil, a revision, or 412
	}{
		{"", "", 7, nil},
		{tag, "", 7, int64(7)},
		{`"x", ` + tag, "", 7, int64(7)},
		{tag, "", 8, 412},
		{tag, "", 0, 412},
		{"W/" + tag, "", 7, 412},
		{"*", "", 0, int64(-1)},
		{"", "*", 7, int64(0)},
		{"", tag, 7, nil},
		{"*", "*", 7, 412},
	} {
		h := http.Header{}
		if test.match != "" {
			h.Set("If-Match", test.match)
		}
		if test.none != "" {
			h.Set("If-None-Match", test.none)
		}
		got, err := etag.Parse(h).Expect("id", test.revision)
		var e *rest.Error
		switch want := test.want.(type) {
		case nil:
			require.NoError(t, err)
			require.Nil(t, got, test)
		case int64:
			require.NoError(t, err)
			require.Equal(t, want, *got, test)
		case int:
			require.True(t, errors.As(err, &e), test)
			require.Equal(t, want, e.Status)
		}
	}
}
