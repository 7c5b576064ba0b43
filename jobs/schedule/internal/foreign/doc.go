// Package foreign translates schedules that are written in the language of another system (a form)
// to the text of one of the kinds of this project. It works on texts only: it has the names of the
// kinds and of their elements, but it neither parses nor evaluates texts of kinds. Package schedule
// parses each translation before it is used.
//
// A translation is exact, or the form refuses the text. Differences that no text can express are
// notes.
package foreign
