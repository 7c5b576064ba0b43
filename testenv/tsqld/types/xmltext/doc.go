// Package xmltext checks a text of xml and writes the form in which a value of type xml is stored.
package xmltext
