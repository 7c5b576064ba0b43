package sysfunc

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Connection has the functions of the clock and of the connection of a session.
type Connection struct{ s *session.Session }

// Now implements [builtin.Clock]. All calls during a statement return the same time.
func (e Connection) Now() int64 { return e.s.Now() }

// LocalOffset implements [builtin.Clock]. The server's time zone is UTC, as in Azure.
func (e Connection) LocalOffset() int { return 0 }

// Random implements [builtin.Clock].
func (e Connection) Random(seed *int64) float64 {
	g := &e.s.Random
	if seed != nil {
		g.Seed(*seed)
	}
	return g.Next()
}

// SPID implements [builtin.Connection].
func (e Connection) SPID() int { return e.s.SPID() }

// HostName implements [builtin.Connection].
func (e Connection) HostName() string { return e.s.Client.Host }

// AppName implements [builtin.Connection].
func (e Connection) AppName() string { return e.s.Client.App }

// OriginalDatabase implements [builtin.Connection].
func (e Connection) OriginalDatabase() string { return e.s.HomeDatabase() }

// HostProcess implements [builtin.Connection].
func (e Connection) HostProcess() int64 { return int64(e.s.Client.PID) }

// Login implements [builtin.Connection].
func (e Connection) Login() string { return e.s.LoginName() }

// OriginalLogin implements [builtin.Connection].
func (e Connection) OriginalLogin() string {
	name, _ := e.s.Original.Label()
	return name
}

// ServerName implements [builtin.Connection].
func (e Connection) ServerName() string { return e.s.Server.Config.ServerName }

// The version of SQL Server that the server reports. It defines the supported dialect of T-SQL.
const (
	productVersion = "16.0.1000.6"
	edition        = "Developer Edition (64-bit)"
	engineEdition  = 3 // Enterprise and Developer
)

// ServerProperty implements [builtin.Connection].
func (e Connection) ServerProperty(name string) (types.Value, types.Type, bool) {
	text := func(s string) (types.Value, types.Type, bool) { return s, types.SysNameType, true }
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
		return nil, types.SysNameType, true
	case "buildclrversion": // there is no CLR
		return text("v0.0.0")
	case "resourceversion":
		return text(productVersion)
	case "resourcelastupdatedatetime":
		return types.RoundDateTime(types.TicksOf(e.s.Server.Started)), types.DateTimeType, true
	case "instancedefaultdatapath", "instancedefaultlogpath", "instancedefaultbackuppath":
		return text(filepath.Dir(e.s.Server.Store.Path(catalog.DatabaseMaster)) + string(filepath.Separator))
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
func (e Connection) ConnectionProperty(name string) (types.Value, types.Type, bool) {
	text := func(s string) (types.Value, types.Type, bool) { return s, types.NVarCharOf(40), true }
	switch strings.ToLower(name) {
	case "net_transport", "physical_net_transport":
		if _, _, ok := session.TCPAddress(e.s.Client.Remote); !ok {
			return text("Shared memory")
		}
		return text("TCP")
	case "protocol_type":
		return text("TSQL")
	case "auth_scheme":
		return text("SQL")
	case "client_net_address":
		return session.ClientAddress(e.s.Client), types.VarCharOf(48), true
	case "local_net_address":
		if host, _, ok := session.TCPAddress(e.s.Client.Local); ok {
			return host, types.VarCharOf(48), true
		}
		return nil, types.VarCharOf(48), true
	case "local_tcp_port":
		if _, port, ok := session.TCPAddress(e.s.Client.Local); ok {
			return int64(port), types.IntType, true
		}
		return nil, types.IntType, true
	}
	return nil, types.NullType, false
}
