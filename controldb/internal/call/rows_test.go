package call

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNullableStoresZeroValues(t *testing.T) {
	scan := func(dest, src any) {
		t.Helper()
		require.NoError(t, nullable(dest).(interface{ Scan(any) error }).Scan(src))
	}
	text, id, at, n, share := "x", uuid.New(), time.Now(), 3, 0.5
	for _, dest := range []any{&text, &id, &at, &n, &share} {
		scan(dest, nil)
	}
	require.Empty(t, text)
	require.Equal(t, uuid.Nil, id)
	require.True(t, at.IsZero())
	require.Zero(t, n)
	require.Zero(t, share)

	var list []string
	var raw json.RawMessage
	scan(&list, nil)
	scan(&raw, "")
	require.Nil(t, list)
	require.Nil(t, raw)
	scan(&list, `["a", "b"]`)
	scan(&raw, []byte(`{"errors": []}`))
	require.Equal(t, []string{"a", "b"}, list)
	require.JSONEq(t, `{"errors": []}`, string(raw))

	scan(&text, "y")
	scan(&id, []byte{0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF})
	require.Equal(t, "y", text)
	require.Equal(t, uuid.MustParse("00112233-4455-6677-8899-aabbccddeeff"), id, "the byte order of UNIQUEIDENTIFIER")

	type named string
	kind := named("x")
	require.Same(t, &kind, nullable(&kind), "columns of other types are NOT NULL")
}
