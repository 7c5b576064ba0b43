// Package call calls the procedures and reads the views of a control database. Each operation of
// controldb and of the packages below it is a [Call] or a query on a [Conn]. A procedure is named
// by a constant, and no other text is sent that changes data: testenv/archtest checks both.
package call
