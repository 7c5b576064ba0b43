package mssql

import (
	"errors"
	"strings"

	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
	"github.com/jobagent/jobagent/targets/mssql/kerberos"
)

// The sources of the table.
const (
	sourceAzure   = "Azure SQL Database: troubleshoot transient connection errors"
	sourceGovern  = "Azure SQL Database: resource management and governance errors"
	sourceEvents  = "SQL Server: database engine events and errors"
	sourceNetwork = "SQL Server: network errors of client libraries (Winsock and provider numbers)"
	sourceClient  = "SqlClient: SqlConfigurableRetryFactory, inner transient error list"
	sourceEF      = "Entity Framework Core: SqlServerTransientExceptionDetector"
)

// numberRow is one row of the table of error numbers.
type numberRow struct {
	number int32
	class  targets.Class
	reason string
	source string
}

// numbers is the table of error numbers in ascending order. A number that is not in the table is
// permanent.
var numbers = []numberRow{
	{-2, targets.ClassTimeout, "the client's time limit passed", sourceNetwork},
	{20, targets.ClassLostConnection, "the instance does not support encryption, or is going down", sourceEF},
	{53, targets.ClassLostConnection, "the server was not found or is not accessible", sourceNetwork},
	{64, targets.ClassLostConnection, "the connection was made and then broke during login", sourceEF},
	{121, targets.ClassTimeout, "the network did not answer in time (semaphore time-out)", sourceNetwork},
	{208, targets.ClassPermanent, "invalid object name", sourceEvents},
	{229, targets.ClassAuth, "permission on an object denied", sourceEvents},
	{230, targets.ClassAuth, "permission on a column denied", sourceEvents},
	{233, targets.ClassLostConnection, "the server closed the connection during login: too busy, or going down", sourceEF},
	{258, targets.ClassTimeout, "waiting for the network timed out", sourceNetwork},
	{262, targets.ClassAuth, "permission in the database denied", sourceEvents},
	{297, targets.ClassAuth, "the user has no permission for this action", sourceEvents},
	{300, targets.ClassAuth, "a server or database permission is missing", sourceEvents},
	{539, targets.ClassTransient, "the schema changed while SELECT INTO ran", sourceEF},
	{596, targets.ClassLostConnection, "the session was killed", sourceEvents},
	{601, targets.ClassTransient, "a scan under NOLOCK met moved data", sourceEvents},
	{615, targets.ClassTransient, "the database was not found and may be offline for a moment", sourceEF},
	{617, targets.ClassTransient, "a work table lacks an entry; run again", sourceEF},
	{669, targets.ClassTransient, "a row object is inconsistent; run again", sourceEF},
	{701, targets.ClassTransient, "the server has too little memory", sourceEvents},
	{802, targets.ClassTransient, "the buffer pool has too little memory", sourceEvents},
	{844, targets.ClassTimeout, "the wait for a latch of the buffer pool took too long", sourceEvents},
	{845, targets.ClassTimeout, "the wait for a latch of a page took too long", sourceEvents},
	{911, targets.ClassPermanent, "the database does not exist", sourceEvents},
	{916, targets.ClassAuth, "the login cannot use the database", sourceEvents},
	{921, targets.ClassTransient, "the database has not been recovered yet", sourceEvents},
	{922, targets.ClassTransient, "the database is being recovered", sourceEvents},
	{924, targets.ClassTransient, "the database is in single-user mode, and another session has it", sourceEvents},
	{926, targets.ClassTransient, "the database cannot be opened; on Azure during reconfiguration", sourceAzure},
	{927, targets.ClassTransient, "the database is being restored", sourceEvents},
	{941, targets.ClassTransient, "the database has not been started", sourceEF},
	{942, targets.ClassTransient, "the database is offline", sourceEvents},
	{952, targets.ClassTransient, "the database is in transition", sourceEvents},
	{976, targets.ClassTransient, "the availability group's database cannot be read on this replica", sourceEvents},
	{978, targets.ClassConfig, "the replica takes connections with read-only intent only", sourceEvents},
	{979, targets.ClassTransient, "the replica takes no connections with read-only intent at present", sourceEvents},
	{982, targets.ClassTransient, "no readable secondary is online", sourceEF},
	{983, targets.ClassTransient, "the replica's role is being resolved", sourceEvents},
	{988, targets.ClassTransient, "the database lacks a quorum of nodes", sourceEF},
	{997, targets.ClassLostConnection, "the connection was made and then broke during login", sourceClient},
	{1203, targets.ClassTransient, "a lock was released twice; run again", sourceEF},
	{1204, targets.ClassTransient, "the server has no lock resources left", sourceEF},
	{1205, targets.ClassDeadlock, "chosen as the victim of a deadlock", sourceEvents},
	{1221, targets.ClassTransient, "locks were released at a wrong moment; run again", sourceEF},
	{1222, targets.ClassTimeout, "a lock was not granted within LOCK_TIMEOUT", sourceEvents},
	{1232, targets.ClassTransient, "the lock manager service did not grant a lock", sourceEF},
	{1807, targets.ClassTransient, "the model database is in use by another session", sourceEF},
	{2021, targets.ClassTransient, "an entity was changed while it was used", sourceEF},
	{2816, targets.ClassTransient, "an object's metadata changed; run again", sourceEF},
	{3906, targets.ClassTransient, "the database is read-only: a secondary after a failover, or set so", sourceEvents},
	{3935, targets.ClassTransient, "a FILESTREAM context could not be made for lack of resources", sourceEF},
	{3947, targets.ClassTransient, "the secondary failed to catch up", sourceEF},
	{3948, targets.ClassTransient, "the replica changed its role or removed versions", sourceEF},
	{3950, targets.ClassTimeout, "the wait for the version store took too long", sourceEF},
	{3953, targets.ClassTransient, "the database was not recovered when the snapshot transaction began", sourceEF},
	{3957, targets.ClassTransient, "the database did not allow snapshots when the transaction began", sourceEF},
	{3960, targets.ClassTransient, "an update conflict under snapshot isolation", sourceEF},
	{3966, targets.ClassTransient, "a row version was removed too early", sourceEF},
	{4060, targets.ClassTransient, "the login cannot open the database: missing, in transit, or denied", sourceAzure},
	{4117, targets.ClassTransient, "a table's schema changes too often", sourceEF},
	{4184, targets.ClassTransient, "a table's schema changes too often", sourceEF},
	{4221, targets.ClassTransient, "the secondary is still catching up", sourceAzure},
	{6005, targets.ClassLostConnection, "the server is shutting down", sourceEvents},
	{8628, targets.ClassTimeout, "the wait for the query's optimization took too long", sourceEF},
	{8645, targets.ClassTimeout, "the wait for memory for the query took too long", sourceEF},
	{8651, targets.ClassTransient, "memory for the query is not available", sourceEF},
	{9020, targets.ClassTransient, "the log failed to grow while it was shrunk", sourceEF},
	{9515, targets.ClassTransient, "the XML schema changed meanwhile; run again", sourceEF},
	{10053, targets.ClassLostConnection, "the connection was aborted by this machine's network software", sourceNetwork},
	{10054, targets.ClassLostConnection, "the connection was reset by the server", sourceNetwork},
	{10060, targets.ClassLostConnection, "the server did not answer the connection request", sourceNetwork},
	{10061, targets.ClassLostConnection, "the server refused the connection: nothing listens there", sourceNetwork},
	{10922, targets.ClassTransient, "the operation failed; run again", sourceEF},
	{10928, targets.ClassTransient, "a limit of the database or pool was reached (workers or sessions)", sourceGovern},
	{10929, targets.ClassTransient, "the server can only provide the database's guaranteed minimum", sourceGovern},
	{10930, targets.ClassTransient, "the service is too busy", sourceEF},
	{10936, targets.ClassTransient, "the elastic pool's limit of requests was reached", sourceGovern},
	{11001, targets.ClassLostConnection, "the server's name is not known", sourceNetwork},
	{11539, targets.ClassTransient, "a type in WITH RESULT SETS changed; run again", sourceEF},
	{14355, targets.ClassTransient, "the directory helper service is busy", sourceEF},
	{15247, targets.ClassAuth, "the user has no permission for this action", sourceEvents},
	{17142, targets.ClassTransient, "the server is paused", sourceEvents},
	{17197, targets.ClassTimeout, "the login took too long: the server is under load", sourceEF},
	{17803, targets.ClassTransient, "the server has too little memory for the connection", sourceEvents},
	{17809, targets.ClassTransient, "the server has as many connections as its option user connections permits", sourceEvents},
	{17889, targets.ClassTransient, "the session has reached its number of connections", sourceEF},
	{17892, targets.ClassAuth, "a trigger of the server refused the login", sourceEvents},
	{18401, targets.ClassTransient, "the server is in script upgrade mode", sourceEF},
	{18451, targets.ClassTransient, "only administrators may log in now", sourceEvents},
	{18452, targets.ClassAuth, "the login is from an untrusted domain", sourceEvents},
	{18456, targets.ClassAuth, "the login was refused: unknown, disabled, a wrong password, or no access", sourceEvents},
	{18470, targets.ClassAuth, "the login is disabled", sourceEvents},
	{18486, targets.ClassAuth, "the login is locked out", sourceEvents},
	{18487, targets.ClassAuth, "the login's password has expired", sourceEvents},
	{18488, targets.ClassAuth, "the login's password must be changed", sourceEvents},
	{20041, targets.ClassTransient, "the transaction rolled back; run again", sourceEF},
	{22335, targets.ClassTransient, "the server has no lock resources left", sourceEF},
	{33148, targets.ClassAuth, "the directory does not know the login", sourceEvents},
	{40020, targets.ClassTransient, "a service error, named inside 40197", sourceAzure},
	{40143, targets.ClassTransient, "a service error, named inside 40197", sourceAzure},
	{40166, targets.ClassTransient, "a service error, named inside 40197", sourceAzure},
	{40189, targets.ClassTransient, "the database's resource quota is used up for now", sourceEF},
	{40197, targets.ClassTransient, "the service met an error: an upgrade, a hardware fault or a failover", sourceAzure},
	{40501, targets.ClassTransient, "the service is busy", sourceAzure},
	{40532, targets.ClassAuth, "the login cannot open this server", sourceAzure},
	{40540, targets.ClassTransient, "a service error, named inside 40197", sourceAzure},
	{40544, targets.ClassPermanent, "the database has reached its size limit", sourceGovern},
	{40545, targets.ClassPermanent, "the service has reached its limit of databases", sourceGovern},
	{40549, targets.ClassTransient, "the session was ended: its transaction took too long", sourceGovern},
	{40550, targets.ClassTransient, "the session was ended: it held too many locks", sourceGovern},
	{40551, targets.ClassTransient, "the session was ended: it used too much of tempdb", sourceGovern},
	{40552, targets.ClassTransient, "the session was ended: it used too much of the log", sourceGovern},
	{40553, targets.ClassTransient, "the session was ended: it used too much memory", sourceGovern},
	{40613, targets.ClassTransient, "the database is not available at the moment", sourceAzure},
	{40615, targets.ClassAuth, "the server's firewall does not let this address in", sourceAzure},
	{40623, targets.ClassAuth, "the login became invalid meanwhile: a changed password or a dropped login", sourceEF},
	{40627, targets.ClassTransient, "an operation on the server and database is in progress", sourceAzure},
	{40642, targets.ClassTransient, "the server is too busy", sourceEF},
	{40648, targets.ClassTransient, "too many requests", sourceEF},
	{40671, targets.ClassTransient, "the server could not do it at the moment", sourceEF},
	{40675, targets.ClassTransient, "the service is too busy", sourceEF},
	{40852, targets.ClassConfig, "the server's security settings need a client that supports redirection", sourceAzure},
	{40890, targets.ClassTransient, "the elastic pool is busy with another operation", sourceEF},
	{40903, targets.ClassTransient, "the server is busy", sourceEF},
	{40914, targets.ClassAuth, "the server's firewall does not let this network in", sourceAzure},
	{41301, targets.ClassTransient, "a transaction in memory depended on one that failed", sourceEF},
	{41302, targets.ClassTransient, "an update conflict in a memory-optimized table", sourceEF},
	{41305, targets.ClassTransient, "a repeatable read could not be kept in a memory-optimized table", sourceEF},
	{41325, targets.ClassTransient, "serializable isolation could not be kept in a memory-optimized table", sourceEF},
	{41339, targets.ClassTransient, "a table was changed after the transaction began", sourceEF},
	{41823, targets.ClassTransient, "the database has reached its quota of memory-optimized tables", sourceEF},
	{41839, targets.ClassTransient, "a transaction in memory has too many dependencies", sourceEF},
	{41840, targets.ClassTransient, "the elastic pool has reached its quota of memory-optimized tables", sourceEF},
	{42108, targets.ClassTransient, "the SQL pool is paused", sourceEF},
	{42109, targets.ClassTransient, "the SQL pool is warming up", sourceEF},
	{45179, targets.ClassTransient, "an operation of the service timed out and was rolled back", sourceEF},
	{45182, targets.ClassTransient, "the database is busy with another operation", sourceEF},
	{47073, targets.ClassAuth, "the server takes no connections from the public network", sourceAzure},
	{49802, targets.ClassTransient, "the database is not available at the moment", sourceEF},
	{49918, targets.ClassTransient, "the service has too few resources for the request", sourceAzure},
	{49919, targets.ClassTransient, "too many create or update operations are in progress", sourceAzure},
	{49920, targets.ClassTransient, "too many operations are in progress", sourceAzure},
	{49977, targets.ClassTransient, "the elastic pool is busy with another operation", sourceEF},
	{49983, targets.ClassTransient, "an operation of the service did not complete", sourceEF},
}

// numberIndex maps a number to its row.
var numberIndex = func() map[int32]numberRow {
	index := make(map[int32]numberRow, len(numbers))
	for _, row := range numbers {
		index[row.number] = row
	}
	return index
}()

// ClassifyNumber looks up an error number. A number that is not in the table is permanent.
func ClassifyNumber(number int32) targets.Classification {
	if row, ok := numberIndex[number]; ok {
		return targets.Classification{Class: row.class, Number: number, Reason: row.reason, Source: row.source}
	}
	return targets.Classification{Class: targets.ClassPermanent, Number: number}
}

// unavailable are the numbers of a server that can serve neither the database nor a session at
// present, whatever the request: a failover, a database that starts, a secondary replica, too much
// load. The other retryable numbers concern one statement. 4060 and 18456 are not in the list,
// because a wrong name or login also causes them.
var unavailable = map[int32]bool{
	233: true, 596: true, 615: true, 921: true, 922: true, 924: true, 926: true, 927: true, 941: true, 942: true, 952: true, 976: true,
	979: true, 982: true, 983: true, 988: true, 3906: true, 3947: true, 3948: true, 4221: true, 6005: true,
	10928: true, 10929: true, 10930: true, 10936: true, 17142: true, 17197: true, 17803: true, 17809: true, 18401: true, 18451: true,
	40020: true, 40143: true, 40166: true, 40189: true, 40197: true, 40501: true, 40540: true, 40613: true, 40627: true, 40642: true, 40648: true, 40671: true,
	40675: true, 40890: true, 40903: true, 42108: true, 42109: true, 45182: true, 49802: true, 49918: true, 49919: true, 49920: true,
	49977: true,
}

// refusesLogin are the numbers with which a server refuses a login and whose texts have the reason.
// The texts of 18456 and 4060 do not.
var refusesLogin = map[int32]bool{
	18452: true, 18461: true, 18470: true, 18486: true, 18487: true, 18488: true, 33148: true, 40532: true, 40615: true,
	40914: true, 47073: true,
}

// RefusesLogin reports whether an error number means that the server refuses the login for a reason
// that its text names: a login that is locked out, disabled or of an untrusted domain, an expired
// password, a firewall.
func RefusesLogin(number int32) bool { return refusesLogin[number] }

// inDoubt are the numbers with which a server ends a session for a reason of its own, such as a
// failover. A commit at this moment may be durable on the new primary without an answer. So a
// script that ends with such an error is Unknown (I8), if the severity of the error ends the
// session. With a lower severity, the session continues, and the statement has failed.
var inDoubt = map[int32]bool{596: true, 6005: true, 40020: true, 40143: true, 40166: true, 40197: true, 40540: true, 40613: true}

// Unavailable reports whether an error number means that the server cannot serve the database at
// present, so that any other call would also fail.
func Unavailable(number int32) bool { return unavailable[number] }

// Classify returns the class of an error of an attempt or a resolution. A nil error has the zero
// Classification. A server's error is looked up by its number. When the server reported several
// errors at once, the first retryable one decides, because errors such as 3621 ("the statement has
// been terminated") only accompany it.
func Classify(err error) targets.Classification {
	var (
		encryption *EncryptionError
		script     *ScriptError
		variable   *VariableError
		exceeded   *tdsguard.Exceeded
		violation  *tdsguard.Violation
		server     mssqldb.Error
		ticket     *kerberos.Error
	)
	if err == nil {
		return targets.Classification{}
	}
	cause, isCause := targets.ClassifyCause(err)
	switch {
	case isCause && cause.Class == targets.ClassConfig:
		return cause
	case errors.As(err, &encryption):
		return targets.Classification{
			Class:  targets.ClassConfig,
			Reason: "the connection would not be encrypted as required, or the server's identity could not be verified",
		}
	case errors.As(err, &ticket) && ticket.Class != "":
		return targets.Classification{Class: ticket.Class, Reason: "there is no Kerberos ticket for the server"}
	case errors.As(err, &variable):
		return targets.Classification{Class: targets.ClassPermanent, Reason: "a variable of the script has no usable value"}
	case errors.As(err, &script):
		return targets.Classification{Class: targets.ClassPermanent, Reason: "the script cannot be split into batches"}
	case isCause:
		return cause
	case errors.As(err, &exceeded):
		return targets.Classification{Class: targets.ClassPermanent, Reason: "the target exceeded a limit"}
	case errors.As(err, &violation):
		return targets.Classification{Class: targets.ClassLostConnection, Reason: "the server violates the protocol"}
	case errors.Is(err, errConnectionLost):
		return targets.Classification{Class: targets.ClassLostConnection, Reason: "the connection was lost"}
	case errors.As(err, &server) && server.Number != 0:
		return classifyServer(server)
	default:
		return classifyDriver(err)
	}
}

// classifyServer classifies an error that the server reported, together with those reported beside
// it.
func classifyServer(err mssqldb.Error) targets.Classification {
	c := ClassifyNumber(err.Number)
	for _, one := range err.All {
		if other := ClassifyNumber(one.Number); !c.Class.Retryable() && other.Class.Retryable() {
			c = other
		}
	}
	return c
}

// classifyDriver classifies a network error. The driver flattens two kinds of error into text: a
// certificate that failed verification, and a connection that ended during the TLS handshake.
func classifyDriver(err error) targets.Classification {
	text := err.Error()
	if strings.Contains(text, "TLS Handshake failed") && strings.Contains(text, "x509:") {
		return targets.Classification{Class: targets.ClassConfig, Reason: "the server's certificate is not trusted"}
	}
	c := targets.ClassifyNetwork(err)
	var stream mssqldb.StreamError
	if c.Class == targets.ClassPermanent && (errors.As(err, &stream) ||
		strings.Contains(text, "cannot read handshake packet") || strings.Contains(text, "cannot send handshake packet")) {
		return targets.Classification{Class: targets.ClassLostConnection, Reason: "the connection was lost"}
	}
	return c
}
