package targets

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/targets/internal/tdsguard"
)

// Class is what kind of thing an error is. Every class is retried by the step's policy, as Azure does;
// the class is for people and for the agent's own waits.
type Class string

// The classes. The zero value is none.
const (
	// ClassTransient errors pass by themselves: a failover, a throttled or overloaded server.
	ClassTransient Class = "Transient"
	// ClassDeadlock: the statement was the victim of a deadlock; it can be sent again at once.
	ClassDeadlock Class = "Deadlock"
	// ClassTimeout: something took too long: a lock, a connection, a query.
	ClassTimeout Class = "Timeout"
	// ClassLostConnection: the network or the server ended the connection.
	ClassLostConnection Class = "LostConnection"
	// ClassAuth: a login, user or permission is wrong; somebody must change it.
	ClassAuth Class = "Auth"
	// ClassConfig: a name or setting of the agent's configuration is wrong; nothing was sent.
	ClassConfig Class = "Config"
	// ClassStopped: the attempt was ended on purpose, by somebody or by the agent.
	ClassStopped Class = "Stopped"
	// ClassPermanent is every other error: most likely the script's.
	ClassPermanent Class = "Permanent"
)

// Retryable says whether the same thing may succeed later without anybody changing anything.
func (c Class) Retryable() bool {
	switch c {
	case ClassTransient, ClassDeadlock, ClassTimeout, ClassLostConnection:
		return true
	default:
		return false
	}
}

// Classification is what Classify knows about an error.
type Classification struct {
	// Class is never empty.
	Class Class
	// Number is the server's error number; 0 when the error did not come from a server.
	Number int32
	// Reason says in a few words what the error means; empty for a number that is not in the table.
	Reason string
	// Source is the document that the row of the table is from; empty for errors that are not the server's.
	Source string
}

// The documents behind the table.
const (
	sourceAzure   = "Azure SQL Database: troubleshoot transient connection errors"
	sourceGovern  = "Azure SQL Database: resource management and governance errors"
	sourceEvents  = "SQL Server: database engine events and errors"
	sourceNetwork = "SQL Server: network errors of client libraries (Winsock and provider numbers)"
	sourceEF      = "Entity Framework Core: SqlServerTransientExceptionDetector"
)

// numberRow is one row of the table of error numbers.
type numberRow struct {
	number int32
	class  Class
	reason string
	source string
}

// numbers is the table of error numbers, in ascending order; the test holds it to that. What is not
// in it is permanent.
var numbers = []numberRow{
	{-2, ClassTimeout, "the client's time limit passed", sourceNetwork},
	{20, ClassLostConnection, "the instance does not support encryption, or is going down", sourceEF},
	{53, ClassLostConnection, "the server was not found or is not accessible", sourceNetwork},
	{64, ClassLostConnection, "the connection was made and then broke during login", sourceEF},
	{121, ClassTimeout, "the network did not answer in time (semaphore time-out)", sourceNetwork},
	{208, ClassPermanent, "invalid object name", sourceEvents},
	{229, ClassAuth, "permission on an object denied", sourceEvents},
	{230, ClassAuth, "permission on a column denied", sourceEvents},
	{233, ClassLostConnection, "the server closed the connection during login: too many connections, or going down", sourceEF},
	{258, ClassTimeout, "waiting for the network timed out", sourceNetwork},
	{262, ClassAuth, "permission in the database denied", sourceEvents},
	{297, ClassAuth, "the user has no permission for this action", sourceEvents},
	{300, ClassAuth, "a server or database permission is missing", sourceEvents},
	{539, ClassTransient, "the schema changed while SELECT INTO ran", sourceEF},
	{596, ClassLostConnection, "the session was killed", sourceEvents},
	{601, ClassTransient, "a scan under NOLOCK met moved data", sourceEvents},
	{615, ClassTransient, "the database was not found and may be offline for a moment", sourceEF},
	{617, ClassTransient, "a work table lacks an entry; run again", sourceEF},
	{669, ClassTransient, "a row object is inconsistent; run again", sourceEF},
	{701, ClassTransient, "the server has too little memory", sourceEvents},
	{802, ClassTransient, "the buffer pool has too little memory", sourceEvents},
	{844, ClassTimeout, "a latch of the buffer pool was waited for too long", sourceEvents},
	{845, ClassTimeout, "a latch of a page was waited for too long", sourceEvents},
	{911, ClassPermanent, "the database does not exist", sourceEvents},
	{916, ClassAuth, "the login cannot use the database", sourceEvents},
	{921, ClassTransient, "the database has not been recovered yet", sourceEvents},
	{922, ClassTransient, "the database is being recovered", sourceEvents},
	{926, ClassTransient, "the database cannot be opened; on Azure during reconfiguration", sourceAzure},
	{927, ClassTransient, "the database is being restored", sourceEvents},
	{941, ClassTransient, "the database has not been started", sourceEF},
	{942, ClassTransient, "the database is offline", sourceEvents},
	{952, ClassTransient, "the database is in transition", sourceEvents},
	{976, ClassTransient, "the database is in an availability group and cannot be read on this replica", sourceEvents},
	{978, ClassConfig, "the replica takes connections with read-only intent only", sourceEvents},
	{982, ClassTransient, "no readable secondary is online", sourceEF},
	{983, ClassTransient, "the replica's role is being resolved", sourceEvents},
	{988, ClassTransient, "the database lacks a quorum of nodes", sourceEF},
	{1203, ClassTransient, "a lock was released twice; run again", sourceEF},
	{1204, ClassTransient, "the server has no lock resources left", sourceEF},
	{1205, ClassDeadlock, "chosen as the victim of a deadlock", sourceEvents},
	{1221, ClassTransient, "locks were released at a wrong moment; run again", sourceEF},
	{1222, ClassTimeout, "a lock was not granted within LOCK_TIMEOUT", sourceEvents},
	{1232, ClassTransient, "the lock manager service did not grant a lock", sourceEF},
	{1807, ClassTransient, "the model database is in use by somebody else", sourceEF},
	{2021, ClassTransient, "an entity was changed while it was used", sourceEF},
	{2816, ClassTransient, "an object's metadata changed; run again", sourceEF},
	{3906, ClassPermanent, "the database is read-only", sourceEvents},
	{3935, ClassTransient, "a FILESTREAM context could not be made for lack of resources", sourceEF},
	{3947, ClassTransient, "the secondary failed to catch up", sourceEF},
	{3948, ClassTransient, "the replica changed its role or removed versions", sourceEF},
	{3950, ClassTimeout, "the version store was waited for too long", sourceEF},
	{3953, ClassTransient, "the database was not recovered when the snapshot transaction began", sourceEF},
	{3957, ClassTransient, "the database did not allow snapshots when the transaction began", sourceEF},
	{3960, ClassTransient, "an update conflict under snapshot isolation", sourceEF},
	{3966, ClassTransient, "a row version was removed too early", sourceEF},
	{4060, ClassTransient, "the database cannot be opened by the login: it does not exist, is being moved, or is not the login's", sourceAzure},
	{4117, ClassTransient, "a table's schema changes too often", sourceEF},
	{4184, ClassTransient, "a table's schema changes too often", sourceEF},
	{4221, ClassTransient, "the secondary is still catching up", sourceAzure},
	{6005, ClassLostConnection, "the server is shutting down", sourceEvents},
	{8628, ClassTimeout, "the query's optimization was waited for too long", sourceEF},
	{8645, ClassTimeout, "memory for the query was waited for too long", sourceEF},
	{8651, ClassTransient, "memory for the query is not available", sourceEF},
	{9020, ClassTransient, "the log failed to grow while it was shrunk", sourceEF},
	{9515, ClassTransient, "the XML schema changed meanwhile; run again", sourceEF},
	{10053, ClassLostConnection, "the connection was aborted by this machine's network software", sourceNetwork},
	{10054, ClassLostConnection, "the connection was reset by the server", sourceNetwork},
	{10060, ClassLostConnection, "the server did not answer the connection request", sourceNetwork},
	{10061, ClassLostConnection, "the server refused the connection: nothing listens there", sourceNetwork},
	{10922, ClassTransient, "the operation failed; run again", sourceEF},
	{10928, ClassTransient, "a limit of the database or pool was reached (workers or sessions)", sourceGovern},
	{10929, ClassTransient, "the server is too busy for more than the database's guaranteed minimum", sourceGovern},
	{10930, ClassTransient, "the service is too busy", sourceEF},
	{10936, ClassTransient, "the elastic pool's limit of requests was reached", sourceGovern},
	{11001, ClassLostConnection, "the server's name is not known", sourceNetwork},
	{11539, ClassTransient, "a type in WITH RESULT SETS changed; run again", sourceEF},
	{14355, ClassTransient, "the directory helper service is busy", sourceEF},
	{15247, ClassAuth, "the user has no permission for this action", sourceEvents},
	{17142, ClassTransient, "the server is paused", sourceEvents},
	{17197, ClassTimeout, "the login took too long: the server is under load", sourceEF},
	{17889, ClassTransient, "the session has reached its number of connections", sourceEF},
	{18401, ClassTransient, "the server is in script upgrade mode", sourceEF},
	{18451, ClassTransient, "only administrators may log in now", sourceEvents},
	{18452, ClassAuth, "the login is from an untrusted domain", sourceEvents},
	{18456, ClassAuth, "the login was refused: unknown, disabled, a wrong password, or no access", sourceEvents},
	{18470, ClassAuth, "the login is disabled", sourceEvents},
	{18486, ClassAuth, "the login is locked out", sourceEvents},
	{18487, ClassAuth, "the login's password has expired", sourceEvents},
	{18488, ClassAuth, "the login's password must be changed", sourceEvents},
	{20041, ClassTransient, "the transaction rolled back; run again", sourceEF},
	{22335, ClassTransient, "the server has no lock resources left", sourceEF},
	{33148, ClassAuth, "the directory does not know the login", sourceEvents},
	{40020, ClassTransient, "a service error, named inside 40197", sourceAzure},
	{40143, ClassTransient, "a service error, named inside 40197", sourceAzure},
	{40166, ClassTransient, "a service error, named inside 40197", sourceAzure},
	{40189, ClassTransient, "the database's resource quota is used up for now", sourceEF},
	{40197, ClassTransient, "the service met an error: an upgrade, a hardware fault or a failover", sourceAzure},
	{40501, ClassTransient, "the service is busy", sourceAzure},
	{40532, ClassAuth, "the login cannot open this server", sourceAzure},
	{40540, ClassTransient, "a service error, named inside 40197", sourceAzure},
	{40544, ClassPermanent, "the database has reached its size limit", sourceGovern},
	{40545, ClassPermanent, "the service has reached its limit of databases", sourceGovern},
	{40549, ClassTransient, "the session was ended: its transaction took too long", sourceGovern},
	{40550, ClassTransient, "the session was ended: it held too many locks", sourceGovern},
	{40551, ClassTransient, "the session was ended: it used too much of tempdb", sourceGovern},
	{40552, ClassTransient, "the session was ended: it used too much of the log", sourceGovern},
	{40553, ClassTransient, "the session was ended: it used too much memory", sourceGovern},
	{40613, ClassTransient, "the database is not available at the moment", sourceAzure},
	{40615, ClassAuth, "the server's firewall does not let this address in", sourceAzure},
	{40623, ClassAuth, "the login became invalid meanwhile: a changed password or a dropped login", sourceEF},
	{40627, ClassTransient, "an operation on the server and database is in progress", sourceAzure},
	{40642, ClassTransient, "the server is too busy", sourceEF},
	{40648, ClassTransient, "too many requests", sourceEF},
	{40671, ClassTransient, "the server could not do it at the moment", sourceEF},
	{40675, ClassTransient, "the service is too busy", sourceEF},
	{40852, ClassConfig, "the server's security settings need a client that supports redirection", sourceAzure},
	{40890, ClassTransient, "the elastic pool is busy with another operation", sourceEF},
	{40903, ClassTransient, "the server is busy", sourceEF},
	{40914, ClassAuth, "the server's firewall does not let this network in", sourceAzure},
	{41301, ClassTransient, "a transaction in memory depended on one that failed", sourceEF},
	{41302, ClassTransient, "an update conflict in a memory-optimized table", sourceEF},
	{41305, ClassTransient, "a repeatable read could not be kept in a memory-optimized table", sourceEF},
	{41325, ClassTransient, "serializable isolation could not be kept in a memory-optimized table", sourceEF},
	{41339, ClassTransient, "a table was changed after the transaction began", sourceEF},
	{41823, ClassTransient, "the database has reached its quota of memory-optimized tables", sourceEF},
	{41839, ClassTransient, "a transaction in memory has too many dependencies", sourceEF},
	{41840, ClassTransient, "the elastic pool has reached its quota of memory-optimized tables", sourceEF},
	{42108, ClassTransient, "the SQL pool is paused", sourceEF},
	{42109, ClassTransient, "the SQL pool is warming up", sourceEF},
	{45179, ClassTransient, "an operation of the service timed out and was rolled back", sourceEF},
	{45182, ClassTransient, "the database is busy with another operation", sourceEF},
	{47073, ClassAuth, "the server takes no connections from the public network", sourceAzure},
	{49802, ClassTransient, "the database is not available at the moment", sourceEF},
	{49918, ClassTransient, "the service has too few resources for the request", sourceAzure},
	{49919, ClassTransient, "too many create or update operations are in progress", sourceAzure},
	{49920, ClassTransient, "too many operations are in progress", sourceAzure},
	{49977, ClassTransient, "the elastic pool is busy with another operation", sourceEF},
	{49983, ClassTransient, "an operation of the service did not complete", sourceEF},
}

// numberIndex is numbers by number.
var numberIndex = func() map[int32]numberRow {
	index := make(map[int32]numberRow, len(numbers))
	for _, row := range numbers {
		index[row.number] = row
	}
	return index
}()

// ClassifyNumber looks an error number up. A number that is not in the table is permanent.
func ClassifyNumber(number int32) Classification {
	if row, ok := numberIndex[number]; ok {
		return Classification{Class: row.class, Number: number, Reason: row.reason, Source: row.source}
	}
	return Classification{Class: ClassPermanent, Number: number}
}

// Classify says what kind of error err is. A nil error has the zero Classification. A server's error
// is looked up by its number; when several were reported at once, the first that the table knows as
// something that passes decides, since errors such as 3621 ("the statement has been terminated") only
// accompany it.
func Classify(err error) Classification {
	if err == nil {
		return Classification{}
	}
	var config *ConfigError
	if errors.As(err, &config) {
		return Classification{Class: ClassConfig, Reason: "the agent's configuration does not allow it"}
	}
	var encryption *EncryptionError
	if errors.As(err, &encryption) {
		return Classification{Class: ClassConfig, Reason: "the connection would not be encrypted as it must be, or the server did not prove who it is"}
	}
	var script *ScriptError
	if errors.As(err, &script) {
		return Classification{Class: ClassPermanent, Reason: "the script cannot be split into batches"}
	}
	if errors.Is(err, ErrTimeout) {
		return Classification{Class: ClassTimeout, Reason: "the step's time limit passed"}
	}
	if errors.Is(err, ErrStopRequested) || errors.Is(err, context.Canceled) {
		return Classification{Class: ClassStopped, Reason: "ended on purpose"}
	}
	var exceeded *tdsguard.Exceeded
	if errors.As(err, &exceeded) {
		return Classification{Class: ClassPermanent, Reason: "the target sent more than a limit of the agent allows"}
	}
	var violation *tdsguard.Violation
	if errors.As(err, &violation) {
		return Classification{Class: ClassLostConnection, Reason: "the server does not keep to the protocol"}
	}
	if errors.Is(err, errConnectionLost) {
		return Classification{Class: ClassLostConnection, Reason: "the connection was lost"}
	}
	var server mssql.Error
	if errors.As(err, &server) && server.Number != 0 {
		c := ClassifyNumber(server.Number)
		for _, one := range server.All {
			if other := ClassifyNumber(one.Number); !c.Class.Retryable() && other.Class.Retryable() {
				c = other
			}
		}
		return c
	}
	return classifyNetwork(err)
}

// classifyNetwork is Classify for errors that did not come from a server.
func classifyNetwork(err error) Classification {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		dns       *net.DNSError
		network   net.Error
		stream    mssql.StreamError
	)
	switch {
	case errors.As(err, &authority), errors.As(err, &host), errors.As(err, &invalid), errors.As(err, &verify),
		// The driver flattens the handshake's error into text.
		strings.Contains(err.Error(), "TLS Handshake failed") && strings.Contains(err.Error(), "x509:"):
		return Classification{Class: ClassConfig, Reason: "the server's certificate is not trusted"}
	case errors.As(err, &dns):
		if dns.IsNotFound {
			return Classification{Class: ClassConfig, Reason: "the server's name is not known"}
		}
		return Classification{Class: ClassTransient, Reason: "the name service did not answer"}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return Classification{Class: ClassTimeout, Reason: "no answer in time"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return Classification{Class: ClassLostConnection, Reason: "the server refused the connection: nothing listens there"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, io.ErrClosedPipe), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.As(err, &network), errors.As(err, &stream),
		// Likewise flattened: the connection ended in mid-handshake.
		strings.Contains(err.Error(), "cannot read handshake packet"), strings.Contains(err.Error(), "cannot send handshake packet"):
		return Classification{Class: ClassLostConnection, Reason: "the connection was lost"}
	default:
		return Classification{Class: ClassPermanent}
	}
}

// String is for people: class, number and reason.
func (c Classification) String() string {
	var b strings.Builder
	b.WriteString(string(c.Class))
	if c.Number != 0 {
		fmt.Fprintf(&b, " (%d)", c.Number)
	}
	if c.Reason != "" {
		b.WriteString(": " + c.Reason)
	}
	return b.String()
}
