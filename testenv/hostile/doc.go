// Package hostile is a hostile or broken server: it does to an agent what a bad target can do. It
// speaks enough TDS for a client to log in and to send a script. Its [Mode] determines its answers.
// [Streams] are single answers with a wrong length, count or type.
//
// The package is for tests. It has no knowledge of jobs, or of the defenses of clients.
package hostile
