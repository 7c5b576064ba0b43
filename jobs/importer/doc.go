// Package importer turns jobs of other systems (Azure Scheduler, SAP Job Scheduling Service, SQL
// Server Agent) into the T-SQL that creates them here, and into a report of everything that could
// not be carried over. It is pure: it reads what it is given, uses no clock and no connection.
//
// What must hold: an element of the input is carried over, or stands in the report; the report and
// the script hold no secret of the input; schedules are due when the system that they come from
// would have made them due. See DESIGN.md.
package importer
