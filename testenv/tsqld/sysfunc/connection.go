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

// serverTexts are the properties of SERVERPROPERTY that are always the same text.
var serverTexts = map[string]string{
	"productversion": productVersion, "productmajorversion": "16", "productminorversion": "0", "productbuild": "1000",
	"productlevel": "RTM", "resourceversion": productVersion, "edition": edition,
	"buildclrversion": "v0.0.0", // there is no CLR
	"pathseparator":   string(filepath.Separator), "collation": catalog.DefaultCollation,
	"sqlcollationname": catalog.DefaultCollation, "sqlcharsetname": "iso_1", "sqlsortordername": "nocase_iso",
	"licensetype": "DISABLED",
}

// serverNumbers are the properties of SERVERPROPERTY that are always the same int.
var serverNumbers = map[string]int64{
	"engineedition": engineEdition, "collationid": 872468488, "comparisonstyle": 196609, "lcid": 1033,
	"suspendeddatabasecount": 0, "isserversuspendedforsnapshotbackup": 0, "isexternalauthenticationonly": 0,
	"isexternalgovernanceenabled": 0, "isnongolden": 0, "isclustered": 0, "ishadrenabled": 0, "isfulltextinstalled": 0,
	"isintegratedsecurityonly": 0, "issingleuser": 0, "isadvancedanalyticsinstalled": 0, "isxtpsupported": 0,
	"ispolybaseinstalled": 0, "isbigdatacluster": 0, "islocaldb": 0, "istempdbmetadatamemoryoptimized": 0,
	"filestreamconfiguredlevel": 0, "filestreameffectivelevel": 0,
}

// ServerProperty implements [builtin.Connection].
func (e Connection) ServerProperty(name string) (types.Value, types.Type, bool) {
	name = strings.ToLower(name)
	if s, ok := serverTexts[name]; ok {
		return s, types.SysNameType, true
	}
	if n, ok := serverNumbers[name]; ok {
		return n, types.IntType, true
	}
	switch name {
	case "productupdatelevel", "instancename", "productupdatereference", "productbuildtype", "filestreamsharename",
		"numlicenses":
		return nil, types.SysNameType, true
	case "resourcelastupdatedatetime":
		return types.RoundDateTime(types.TicksOf(e.s.Server.Started)), types.DateTimeType, true
	case "instancedefaultdatapath", "instancedefaultlogpath", "instancedefaultbackuppath":
		return filepath.Dir(e.s.Server.Store.Path(catalog.DatabaseMaster)) + string(filepath.Separator), types.SysNameType, true
	case "editionid":
		return int64(-2117995310), types.BigIntType, true
	case "servername", "machinename", "computernamephysicalnetbios":
		return e.ServerName(), types.SysNameType, true
	case "sqlcharset":
		return int64(1), types.TinyIntType, true
	case "sqlsortorder":
		return int64(52), types.TinyIntType, true
	case "processid":
		return int64(os.Getpid()), types.IntType, true
	case "hadrmanagerstatus":
		return nil, types.IntType, true
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
