package dberror

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/controldb/message"
	sqlfs "github.com/jobagent/jobagent/sql"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// otherKinds are the kinds of numbers that do not have the kind of their range.
var otherKinds = map[int32]Kind{
	50055: KindNotFound, 50410: KindNotFound, 50426: KindNotFound, 50492: KindNotFound, 50493: KindNotFound,
	50422: KindConflict, 50425: KindConflict, 50483: KindConflict,
}

func TestConditionsMatchThrows(t *testing.T) {
	objects, err := sqlfs.Objects()
	require.NoError(t, err)
	triggers, err := sqlfs.ReadOnly()
	require.NoError(t, err)
	objects = append(objects, triggers...)
	thrown := map[int32]bool{}
	for _, o := range objects {
		for _, m := range regexp.MustCompile(`\bTHROW ([0-9]+)\b`).FindAllStringSubmatch(o.Text, -1) {
			n, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			thrown[int32(n)] = true
			require.Contains(t, conditions, int32(n), o.File)
		}
	}
	for n, c := range conditions {
		require.True(t, thrown[n], "nothing throws %d", n)
		require.NotEmpty(t, c.text)
		switch other, ok := otherKinds[n]; {
		case ok:
			require.Equal(t, other, c.kind, n)
		case n < 50100, n >= 50400:
			require.Equal(t, KindInvalid, c.kind, n)
		case n < 50200:
			require.Contains(t, []Kind{KindConflict, KindNotFound}, c.kind, n)
		case n < 50300:
			require.Equal(t, KindStale, c.kind, n)
		default:
			require.ErrorIs(t, c.sentinel, ErrSchemaVersion, n)
		}
	}
}

func TestTranslate(t *testing.T) {
	err := Translate("stop job", mssqldb.Error{Number: 50111, Message: "The job execution x does not exist."})
	require.ErrorIs(t, err, ErrExecutionNotFound)
	require.Equal(t, KindNotFound, KindOf(err))
	require.Equal(t, int32(50111), NumberOf(err))
	require.EqualError(t, err, "stop job: The job execution x does not exist.")

	text := "Invalid @retry_attempts -1 of '@job': want at least 0."
	err = fmt.Errorf("step 1: %w", Translate("add a step", mssqldb.Error{Number: 50051, Message: text}))
	require.EqualError(t, err, "step 1: add a step: "+text)
	require.Equal(t, "Invalid retry attempts -1 of '@job': want at least 0.", MessageOf(err))
	require.Equal(t, []message.Message{message.Parse(text), message.Parse(text)}, Messages(errors.Join(err, io.EOF, err)))
	require.Empty(t, Messages(io.EOF))

	err = Translate("connect", mssqldb.Error{Number: 18456, Message: "Login failed for user 'sa'."})
	require.ErrorIs(t, err, ErrLoginFailed)
	require.Equal(t, KindNone, KindOf(err))

	err = Translate("connect", mssqldb.Error{Number: 18486, Message: "Login failed for user 'sa' because the account is currently locked out."})
	require.ErrorIs(t, err, ErrLoginFailed)
	require.EqualError(t, err, "connect: Login failed for user 'sa' because the account is currently locked out. (error 18486)")

	require.ErrorIs(t, Translate("x", mssqldb.Error{Number: 2812, Message: "Could not find stored procedure"}), ErrNotInstalled)

	both := mssqldb.Error{Number: 3902, Message: "no transaction", All: []mssqldb.Error{{Number: 50201, Message: "ended"}, {Number: 3902}}}
	require.ErrorIs(t, Translate("x", both), ErrTermEnded)
}

func TestSchemaVersionErrorSaysWhatToDo(t *testing.T) {
	version := &SchemaVersionError{Have: 1, Want: 2}
	require.ErrorIs(t, version, ErrSchemaVersion)
	require.Contains(t, version.Error(), "jobagent db migrate")
}
