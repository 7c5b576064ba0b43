// Package timezone implements AT TIME ZONE, with the Windows names of time zones and, as an
// extension, the names of the IANA data.
package timezone
