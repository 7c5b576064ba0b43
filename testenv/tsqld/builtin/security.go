package builtin

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// securityFuncs return principals and permissions ("Security functions (Transact-SQL)").
var securityFuncs = []*Func{
	word(ofConnection, "SYSTEM_USER", types.SysName, Connection.Login),
	word(ofConnection, "ORIGINAL_LOGIN", types.SysName, Connection.OriginalLogin),
	session(ofSecurity, "USER", 0, 0, types.SysName, evalUserName),
	session(ofSecurity, "CURRENT_USER", 0, 0, types.SysName, evalUserName),
	session(ofSecurity, "SESSION_USER", 0, 0, types.SysName, evalUserName),
	session(ofSecurity, "USER_NAME", 0, 1, types.SysName, evalUserName),
	session(ofSecurity, "USER_ID", 0, 1, types.IntType, evalUserID),
	session(ofSecurity, "DATABASE_PRINCIPAL_ID", 0, 1, types.IntType, evalUserID),
	session(ofLogins, "SUSER_SNAME", 0, 1, types.SysName, evalLoginName),
	session(ofLogins, "SUSER_NAME", 0, 1, types.SysName, evalLoginName),
	session(ofSecurity, "SUSER_ID", 0, 1, types.IntType, evalLoginID),
	session(ofSecurity, "SUSER_SID", 0, 2, types.VarBinaryOf(85), evalLoginSID),
	pure("SID_BINARY", 1, 1, fixed(types.VarBinaryOf(85)), evalSIDBinary),
	session(ofSecurity, "IS_MEMBER", 1, 1, types.IntType, evalIsMember),
	session(ofSecurity, "IS_ROLEMEMBER", 1, 2, types.IntType, evalIsMember),
	session(ofSecurity, "IS_SRVROLEMEMBER", 1, 2, types.IntType, evalIsServerMember),
	session(ofSecurity, "HAS_PERMS_BY_NAME", 3, 5, types.IntType, evalHasPermission),
	session(ofSecurity, "HAS_DBACCESS", 1, 1, types.IntType, evalHasAccess),
}

// evalUserName returns the current user, or the user with an id.
func evalUserName(security Security, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	id := 0
	if len(args) > 0 {
		if args[0] == nil {
			return nil, nil
		}
		n, err := convert.Integer(args[0], ts[0])
		if err != nil {
			return nil, err
		}
		if n == 0 { // only public has the id 0
			return "public", nil
		}
		id = n
	}
	return found(security.UserByID(int32(id)))
}

// found returns a name, or NULL.
func found(name string, ok bool) (types.Value, error) {
	if !ok {
		return nil, nil
	}
	return name, nil
}

// optionalName returns argument i as a text: "" without it; isNull for NULL.
func optionalName(ts []types.Type, args []types.Value, i int) (name string, isNull bool, err error) {
	if len(args) <= i {
		return "", false, nil
	}
	if args[i] == nil {
		return "", true, nil
	}
	name, err = convert.Text(args[i], ts[i])
	return types.TrimBlanks(name), false, err
}

func evalUserID(security Security, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	name, isNull, err := optionalName(ts, args, 0)
	if err != nil || isNull {
		return nil, err
	}
	if id, ok := security.UserByName(name); ok {
		return int64(id), nil
	}
	return nil, nil
}

// loginNames finds logins, and that of the connection.
type loginNames interface {
	Connection
	Security
}

func ofLogins(e Env) loginNames { return e }

// evalLoginName accepts an id, or a SID as bytes.
func evalLoginName(logins loginNames, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if len(args) == 0 {
		return logins.Login(), nil
	}
	switch v := args[0].(type) {
	case nil:
		return nil, nil
	case []byte:
		return found(logins.LoginBySID(v))
	}
	n, err := convert.Integer(args[0], ts[0])
	if err != nil || n == 0 {
		return nil, err
	}
	return found(logins.LoginByID(int32(n)))
}

func evalLoginID(security Security, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	name, isNull, err := optionalName(ts, args, 0)
	if err != nil || isNull {
		return nil, err
	}
	if id, _, ok := security.LoginByName(name); ok {
		return int64(id), nil
	}
	return nil, nil
}

func evalLoginSID(security Security, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	name, isNull, err := optionalName(ts, args, 0)
	if err != nil || isNull {
		return nil, err
	}
	if _, sid, ok := security.LoginByName(name); ok {
		return sid, nil
	}
	return nil, nil
}

// evalSIDBinary implements SID_BINARY: the bytes of a security id
// S-revision-authority-subauthority-... (MS-DTYP 2.4.2). It returns NULL for names of Windows
// accounts, which are all unknown.
func evalSIDBinary(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	parts := strings.Split(strings.TrimSpace(a[0]), "-")
	if len(parts) < 3 || len(parts) > 3+maxSubauthorities || !strings.EqualFold(parts[0], "S") {
		return nil, nil
	}
	revision, err := strconv.ParseUint(parts[1], 10, 8)
	if err != nil {
		return nil, nil
	}
	authority, err := strconv.ParseUint(parts[2], 0, 48)
	if err != nil {
		return nil, nil
	}
	sid := binary.BigEndian.AppendUint64(nil, authority)
	sid[0], sid[1] = byte(revision), byte(len(parts)-3)
	for _, p := range parts[3:] {
		n, err := strconv.ParseUint(p, 10, 32)
		if err != nil {
			return nil, nil
		}
		sid = binary.LittleEndian.AppendUint32(sid, uint32(n))
	}
	return sid, nil
}

// maxSubauthorities is the largest number of subauthorities of a security id.
const maxSubauthorities = 15

// answer returns 1 or 0, or NULL for an unknown name.
func answer(is, known bool) (types.Value, error) {
	if !known {
		return nil, nil
	}
	return types.BitOf(is), nil
}

func evalIsMember(security Security, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	return answer(security.IsRoleMember(a[0], strings.Join(a[1:], "")))
}

func evalIsServerMember(security Security, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	return answer(security.IsServerRoleMember(a[0], strings.Join(a[1:], "")))
}

// evalHasPermission accepts NULL for the database or server as the securable. The only
// sub-securables are columns.
func evalHasPermission(security Security, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	var a [5]string
	for i := range a {
		s, _, err := optionalName(ts, args, i)
		if err != nil {
			return nil, err
		}
		a[i] = s
	}
	if a[2] == "" {
		return nil, nil
	}
	if a[3] != "" && !strings.EqualFold(a[4], "COLUMN") {
		return nil, nil
	}
	return answer(security.HasPermission(a[0], strings.ToUpper(a[1]), strings.ToUpper(a[2]), a[3]))
}

func evalHasAccess(security Security, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	return answer(security.HasDatabaseAccess(a[0]))
}
