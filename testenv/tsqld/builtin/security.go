package builtin

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// securityFuncs return principals and permissions ("Security functions (Transact-SQL)").
var securityFuncs = []*Func{
	word(ofConnection, "SYSTEM_USER", types.SysName, Connection.Login),
	word(ofConnection, "ORIGINAL_LOGIN", types.SysName, Connection.OriginalLogin),
	of0(ofSecurity, "USER", types.SysName, currentUser),
	of0(ofSecurity, "CURRENT_USER", types.SysName, currentUser),
	of0(ofSecurity, "SESSION_USER", types.SysName, currentUser),
	or0(of0(ofSecurity, "USER_NAME", types.SysName, currentUser), of1(ofSecurity, "USER_NAME", types.SysName, anID, evalUserName)),
	optional(of1(ofSecurity, "USER_ID", types.IntType, aText, evalUserID)),
	optional(of1(ofSecurity, "DATABASE_PRINCIPAL_ID", types.IntType, aText, evalUserID)),
	loginName("SUSER_SNAME"),
	loginName("SUSER_NAME"),
	optional(of1(ofSecurity, "SUSER_ID", types.IntType, aText, evalLoginID)),
	upTo(2, optional(of1(ofSecurity, "SUSER_SID", types.VarBinaryOf(85), aText, evalLoginSID))),
	pure("SID_BINARY", 1, 1, fixed(types.VarBinaryOf(85)), evalSIDBinary),
	of1(ofSecurity, "IS_MEMBER", types.IntType, aText, func(s Security, role string) (types.Value, error) { return answer(s.IsRoleMember(role, "")) }),
	optional(of2(ofSecurity, "IS_ROLEMEMBER", types.IntType, aText, aText, evalIsMember)),
	optional(of2(ofSecurity, "IS_SRVROLEMEMBER", types.IntType, aText, aText, evalIsServerMember)),
	session(ofSecurity, "HAS_PERMS_BY_NAME", 3, 5, types.IntType, evalHasPermission),
	of1(ofSecurity, "HAS_DBACCESS", types.IntType, aText, evalHasAccess),
}

func currentUser(security Security) (types.Value, error) { return found(security.UserByID(0)) }

func evalUserName(security Security, id int32) (types.Value, error) {
	if id == 0 { // only public has the id 0
		return "public", nil
	}
	return found(security.UserByID(id))
}

func evalUserID(security Security, name string) (types.Value, error) {
	return foundID(security.UserByName(name))
}

// loginName makes SUSER_SNAME, which accepts an id, or a SID as bytes.
func loginName(name string) *Func {
	return or0(word(ofConnection, name, types.SysName, Connection.Login),
		of1(ofSecurity, name, types.SysName, anything, func(s Security, a argument) (types.Value, error) {
			if sid, ok := a.value.([]byte); ok {
				return found(s.LoginBySID(sid))
			}
			id, _, err := anID(a.value, a.typ)
			if err != nil || id == 0 {
				return nil, err
			}
			return found(s.LoginByID(id))
		}))
}

func evalLoginID(security Security, name string) (types.Value, error) {
	id, _, ok := security.LoginByName(name)
	return foundID(id, ok)
}

// evalLoginSID ignores the second argument, which says whether the login must exist.
func evalLoginSID(security Security, name string) (types.Value, error) {
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

func evalIsMember(security Security, role, principal string) (types.Value, error) {
	return answer(security.IsRoleMember(role, principal))
}

func evalIsServerMember(security Security, role, login string) (types.Value, error) {
	return answer(security.IsServerRoleMember(role, login))
}

// evalHasPermission accepts NULL for the database or server as the securable. The only
// sub-securables are columns.
func evalHasPermission(security Security, ts []types.Type, _ types.Type, vs []types.Value) (types.Value, error) {
	args := arguments{types: ts, values: vs}
	var a [5]string
	for i := range a {
		a[i] = read(&args, i, aText)
	}
	if args.err != nil {
		return nil, args.err
	}
	if a[2] == "" {
		return nil, nil
	}
	if a[3] != "" && !strings.EqualFold(a[4], "COLUMN") {
		return nil, nil
	}
	return answer(security.HasPermission(a[0], strings.ToUpper(a[1]), strings.ToUpper(a[2]), a[3]))
}

func evalHasAccess(security Security, database string) (types.Value, error) {
	return answer(security.HasDatabaseAccess(database))
}
