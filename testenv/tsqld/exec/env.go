package exec

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// env is the view of a run for built-in functions. Its other methods are in env_objects.go,
// env_properties.go and env_security.go.
type env struct{ r *run }

var _ builtin.Env = env{}

// Now implements [builtin.Clock]. All calls during a statement return the same time.
func (e env) Now() int64 { return e.r.s.Now() }

// LocalOffset implements [builtin.Clock]. The server's time zone is UTC, as in Azure.
func (e env) LocalOffset() int { return 0 }

// Random implements [builtin.Clock].
func (e env) Random(seed *int64) float64 {
	g := &e.r.s.Random
	if seed != nil {
		g.Seed(*seed)
	}
	return g.Next()
}

// SPID implements [builtin.Connection].
func (e env) SPID() int { return e.r.s.SPID() }

// HostName implements [builtin.Connection].
func (e env) HostName() string { return e.r.s.Client.Host }

// AppName implements [builtin.Connection].
func (e env) AppName() string { return e.r.s.Client.App }

// Login implements [builtin.Connection].
func (e env) Login() string { return e.r.s.LoginName() }

// OriginalLogin implements [builtin.Connection].
func (e env) OriginalLogin() string {
	name, _ := e.r.s.Original.Label()
	return name
}

// ServerName implements [builtin.Connection].
func (e env) ServerName() string { return e.r.s.inst.Config.ServerName }

// The version of SQL Server that the server reports. It defines the supported dialect of T-SQL.
const (
	productVersion = "16.0.1000.6"
	edition        = "Developer Edition (64-bit)"
	engineEdition  = 3 // Enterprise and Developer
)

// ServerProperty implements [builtin.Connection].
func (e env) ServerProperty(name string) (types.Value, types.Type, bool) {
	text := func(s string) (types.Value, types.Type, bool) { return s, sysname, true }
	number := func(n int64) (types.Value, types.Type, bool) { return n, types.IntType, true }
	switch strings.ToLower(name) {
	case "productversion":
		return text(productVersion)
	case "productmajorversion":
		return text("16")
	case "productminorversion":
		return text("0")
	case "productbuild":
		return text("1000")
	case "productlevel":
		return text("RTM")
	case "productupdatelevel", "instancename", "productupdatereference", "productbuildtype", "filestreamsharename",
		"numlicenses":
		return nil, sysname, true
	case "buildclrversion": // there is no CLR
		return text("v0.0.0")
	case "resourceversion":
		return text(productVersion)
	case "resourcelastupdatedatetime":
		return types.RoundDateTime(types.TicksOf(e.r.s.inst.Started)), types.DateTimeType, true
	case "instancedefaultdatapath", "instancedefaultlogpath", "instancedefaultbackuppath":
		return text(filepath.Dir(e.r.s.inst.Store.Path(catalog.DatabaseMaster)) + string(filepath.Separator))
	case "pathseparator":
		return text(string(filepath.Separator))
	case "suspendeddatabasecount", "isserversuspendedforsnapshotbackup", "isexternalauthenticationonly",
		"isexternalgovernanceenabled", "isnongolden":
		return number(0)
	case "edition":
		return text(edition)
	case "engineedition":
		return number(engineEdition)
	case "editionid":
		return int64(-2117995310), types.BigIntType, true
	case "servername", "machinename", "computernamephysicalnetbios":
		return text(e.ServerName())
	case "collation", "sqlcollationname":
		return text(catalog.DefaultCollation)
	case "collationid":
		return number(872468488)
	case "comparisonstyle":
		return number(196609)
	case "lcid":
		return number(1033)
	case "sqlcharset":
		return int64(1), types.TinyIntType, true
	case "sqlcharsetname":
		return text("iso_1")
	case "sqlsortorder":
		return int64(52), types.TinyIntType, true
	case "sqlsortordername":
		return text("nocase_iso")
	case "processid":
		return number(int64(os.Getpid()))
	case "isclustered", "ishadrenabled", "isfulltextinstalled", "isintegratedsecurityonly", "issingleuser",
		"isadvancedanalyticsinstalled",
		"isxtpsupported", "ispolybaseinstalled", "isbigdatacluster", "islocaldb", "istempdbmetadatamemoryoptimized",
		"filestreamconfiguredlevel", "filestreameffectivelevel":
		return number(0)
	case "hadrmanagerstatus":
		return nil, types.IntType, true
	case "licensetype":
		return text("DISABLED")
	}
	return nil, types.NullType, false
}

// ConnectionProperty implements [builtin.Connection].
func (e env) ConnectionProperty(name string) (types.Value, types.Type, bool) {
	text := func(s string) (types.Value, types.Type, bool) { return s, types.NVarCharOf(40), true }
	switch strings.ToLower(name) {
	case "net_transport", "physical_net_transport":
		if _, _, ok := session.TCPAddress(e.r.s.Client.Remote); !ok {
			return text("Shared memory")
		}
		return text("TCP")
	case "protocol_type":
		return text("TSQL")
	case "auth_scheme":
		return text("SQL")
	case "client_net_address":
		return session.ClientAddress(e.r.s.Client), types.VarCharOf(48), true
	case "local_net_address":
		if host, _, ok := session.TCPAddress(e.r.s.Client.Local); ok {
			return host, types.VarCharOf(48), true
		}
		return nil, types.VarCharOf(48), true
	case "local_tcp_port":
		if _, port, ok := session.TCPAddress(e.r.s.Client.Local); ok {
			return int64(port), types.IntType, true
		}
		return nil, types.IntType, true
	}
	return nil, types.NullType, false
}

// RowCount implements [builtin.State].
func (e env) RowCount() int64 { return e.r.s.RowCount }

// LastError implements [builtin.State].
func (e env) LastError() int32 { return e.r.s.LastError }

// Caught implements [builtin.State].
func (e env) Caught() *builtin.Caught {
	c := e.r.s.caught
	if c == nil {
		return nil
	}
	return &builtin.Caught{
		Number: c.Number, Severity: c.Class, State: c.State, Line: c.Line, Procedure: c.Proc, Message: c.Message,
	}
}

// Identity implements [builtin.State].
func (e env) Identity(scope bool) types.Value {
	if scope {
		return e.r.f.identity
	}
	return e.r.s.LastIdentity
}

// TranCount implements [builtin.State].
func (e env) TranCount() int { return e.r.s.Tran.Level }

// XactState implements [builtin.State].
func (e env) XactState() int {
	switch {
	case e.r.s.Tran.Level == 0:
		return 0
	case e.r.s.Tran.Doomed:
		return -1
	}
	return 1
}

// TransactionID implements [builtin.State].
func (e env) TransactionID() int64 { return int64(e.r.s.Descriptor()) }

// NestLevel implements [builtin.State].
func (e env) NestLevel() int { return e.r.nesting() }

// ProcID implements [builtin.State].
func (e env) ProcID() int32 { return e.r.f.procID }

// TriggerNestLevel implements [builtin.State].
func (e env) TriggerNestLevel(object int32, instead, after bool) int {
	n := 0
	for f := e.r.f; f != nil; f = f.parent {
		if f.fired != nil && (object == 0 || f.procID == object) && (!instead || f.fired.insteadOf) &&
			(!after || !f.fired.insteadOf) {
			n++
		}
	}
	return n
}

// ColumnsUpdated implements [builtin.State].
func (e env) ColumnsUpdated() ([]byte, bool) {
	if e.r.f.fired == nil {
		return nil, false
	}
	return e.r.f.fired.updated, true
}

// FetchStatus implements [builtin.State].
func (e env) FetchStatus() int { return e.r.s.FetchStatus }

// LastRowVersion implements [builtin.State].
func (e env) LastRowVersion() ([]byte, error) { return e.r.s.LastRowVersion(e.r.ctx, e.r.s.DatabaseID) }

// CursorRows implements [builtin.State].
func (e env) CursorRows() int { return e.r.s.CursorRows }

// CursorStatus implements [builtin.State].
func (e env) CursorStatus(scope, name string) int { return e.r.cursorStatus(scope, name) }

// Options implements [builtin.State].
func (e env) Options() int { return e.r.s.Options.Mask() }

// Option implements [builtin.State].
func (e env) Option(name string) int {
	switch name {
	case "LOCK_TIMEOUT":
		return e.r.s.Options.LockTimeout
	case "TEXTSIZE":
		return e.r.s.Options.TextSize
	case "DATEFIRST":
		return e.r.s.Options.DateFirst
	}
	return 0
}

// Locale implements [builtin.State].
func (e env) Locale() types.Locale { return e.r.s.Options.Locale }

// SessionContext implements [builtin.State].
func (e env) SessionContext(key string) types.Value {
	return e.r.s.ContextValue(key)
}

// ContextInfo implements [builtin.State].
func (e env) ContextInfo() []byte { return e.r.s.Options.ContextInfo }

// applockOwner returns the owner of application locks and the resource. ok is false for unknown
// principals.
func (e env) applockOwner(principal, resource, owner string) (*lock.Owner, lock.Resource, bool) {
	s := e.r.s
	d := s.DatabaseByID(s.DatabaseID)
	if d == nil {
		return nil, lock.Resource{}, false
	}
	p := d.Principal(principal)
	if p == nil {
		return nil, lock.Resource{}, false
	}
	o := s.Tran.Owner
	if strings.EqualFold(owner, "Session") {
		o = s.LockOwner
	}
	return o, lock.Resource{App: true, Database: s.DatabaseID, Principal: p.ID, Name: resource}, true
}

// ApplockMode implements [builtin.State].
func (e env) ApplockMode(principal, resource, owner string) string {
	o, res, ok := e.applockOwner(principal, resource, owner)
	if !ok {
		return lock.None.String()
	}
	return e.r.s.inst.Locks.Held(o, res).String()
}

// ApplockTest implements [builtin.State].
func (e env) ApplockTest(principal, resource, mode, owner string) bool {
	o, res, ok := e.applockOwner(principal, resource, owner)
	if !ok {
		return false
	}
	m, ok := lock.ParseMode(mode)
	return ok && e.r.s.inst.Locks.Test(o, res, m)
}
