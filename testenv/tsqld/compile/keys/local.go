package keys

import (
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// The keys of the interpreter's functions begin with one of these constants, followed by fields
// separated by '|'. Such a function is called through Frame.Call of package eval, or by SQLite as
// fnv; the interpreter registers a resolver for the latter with store.Conn.SetLocal, which must
// call [EnvFunc] first.
const (
	// LocalFunction calls a scalar function: udf|<database id>|<object id>. The arguments have the
	// types of the parameters, with defaults filled in; nil is NULL.
	LocalFunction = "udf|"
	// LocalTableFunction runs a multi-statement table-valued function: tvf|<database id>|<object
	// id>. The result is its rows, encoded by [EncodeRows].
	LocalTableFunction = "tvf|"
	// LocalSequence is NEXT VALUE FOR: seq|<database id>|<object id>, followed by |<n> where each
	// row refers to the sequence n times. All n references of a row get the same value. The result
	// has the sequence's type.
	LocalSequence = "seq|"
	// LocalIdentity returns its argument, an identity value that a statement inserts explicitly;
	// see DML.IdentityGiven of package plan.
	LocalIdentity = "given identity"
	// LocalRowVersion returns a new rowversion (8 bytes) of a database: rv|<database id>, 0 for
	// tempdb.
	LocalRowVersion = "rv|"
	// LocalClaim reports whether no other session has locked a row of a source WITH (READPAST), and
	// locks the row: claim|<database id>|<object id>|<mode>. The argument is the rowid. The modes
	// are those of [Claim].
	LocalClaim = "claim|"
	// LocalUnclaimed reports whether LocalClaim is true for all rows and has no effect:
	// unclaimed|<database id>|<mode>.
	LocalUnclaimed = "unclaimed|"
)

// Claim is the lock that a source WITH (READPAST) asks for: S, U or X until the end of the
// transaction, or ClaimNone.
type Claim string

// ClaimNone is the claim of a source that only skips locked rows.
const ClaimNone Claim = "-"

// ParseClaim parses a key of LocalClaim or, with object 0, of LocalUnclaimed. Error 40517 for other
// keys.
func ParseClaim(key string) (database int, object int32, c Claim, err error) {
	base, mode := key, ""
	if i := strings.LastIndexByte(key, '|'); i >= 0 {
		base, mode = key[:i], key[i+1:]
	}
	if strings.HasPrefix(key, LocalUnclaimed) {
		database, object, err = Object(base+"|0", LocalUnclaimed)
	} else {
		database, object, err = Object(base, LocalClaim)
	}
	return database, object, Claim(mode), err
}

// Object parses a key that is a prefix, the ID of a database, '|' and the ID of an object. Error
// 40517 for other keys.
func Object(key, prefix string) (database int, object int32, err error) {
	d, o, _ := strings.Cut(key[len(prefix):], "|")
	database, err = strconv.Atoi(d)
	if err == nil {
		var id int64
		id, err = strconv.ParseInt(o, 10, 32)
		object = int32(id)
	}
	if err != nil {
		return 0, 0, mserr.NotSupported("the function key %s", key)
	}
	return database, object, nil
}
