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
	word("SYSTEM_USER", types.SysName, func(e Env) string { return e.Login() }),
	word("ORIGINAL_LOGIN", types.SysName, func(e Env) string { return e.OriginalLogin() }),
	session("USER", 0, 0, types.SysName, evalUserName),
	session("CURRENT_USER", 0, 0, types.SysName, evalUserName),
	session("SESSION_USER", 0, 0, types.SysName, evalUserName),
	session("USER_NAME", 0, 1, types.SysName, evalUserName),
	session("USER_ID", 0, 1, types.IntType, evalUserID),
	session("DATABASE_PRINCIPAL_ID", 0, 1, types.IntType, evalUserID),
	session("SUSER_SNAME", 0, 1, types.SysName, evalLoginName),
	session("SUSER_NAME", 0, 1, types.SysName, evalLoginName),
	session("SUSER_ID", 0, 1, types.IntType, evalLoginID),
	session("SUSER_SID", 0, 2, types.VarBinaryOf(85), evalLoginSID),
	pure("SID_BINARY", 1, 1, fixed(types.VarBinaryOf(85)), evalSIDBinary),
	session("IS_MEMBER", 1, 1, types.IntType, evalIsMember),
	session("IS_ROLEMEMBER", 1, 2, types.IntType, evalIsMember),
	session("IS_SRVROLEMEMBER", 1, 2, types.IntType, evalIsServerMember),
	session("HAS_PERMS_BY_NAME", 3, 5, types.IntType, evalHasPermission),
	session("HAS_DBACCESS", 1, 1, types.IntType, evalHasAccess),
}

// evalUserName returns the current user, or the user with an id.
func evalUserName(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
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
	return found(env.UserByID(int32(id)))
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

func evalUserID(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	name, isNull, err := optionalName(ts, args, 0)
	if err != nil || isNull {
		return nil, err
	}
	if id, ok := env.UserByName(name); ok {
		return int64(id), nil
	}
	return nil, nil
}

// evalLoginName accepts an id, or a SID as bytes.
func evalLoginName(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if len(args) == 0 {
		return env.Login(), nil
	}
	switch v := args[0].(type) {
	case nil:
		return nil, nil
	case []byte:
		return found(env.LoginBySID(v))
	}
	n, err := convert.Integer(args[0], ts[0])
	if err != nil || n == 0 {
		return nil, err
	}
	return found(env.LoginByID(int32(n)))
}

func evalLoginID(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	name, isNull, err := optionalName(ts, args, 0)
	if err != nil || isNull {
		return nil, err
	}
	if id, _, ok := env.LoginByName(name); ok {
		return int64(id), nil
	}
	return nil, nil
}

func evalLoginSID(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	name, isNull, err := optionalName(ts, args, 0)
	if err != nil || isNull {
		return nil, err
	}
	if _, sid, ok := env.LoginByName(name); ok {
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
	return flag(is), nil
}

func evalIsMember(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	return answer(env.IsRoleMember(a[0], strings.Join(a[1:], "")))
}

func evalIsServerMember(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	return answer(env.IsServerRoleMember(a[0], strings.Join(a[1:], "")))
}

// evalHasPermission accepts NULL for the database or server as the securable. The only
// sub-securables are columns.
func evalHasPermission(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
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
	return answer(env.HasPermission(a[0], strings.ToUpper(a[1]), strings.ToUpper(a[2]), a[3]))
}

func evalHasAccess(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	return answer(env.HasDatabaseAccess(a[0]))
}
