// Package format prints numbers and dates in .NET's standard and custom formats, in the cultures of
// .NET Framework: the function FORMAT. [Message] prints messages of RAISERROR and FORMATMESSAGE.
//
// [Named] and [OfLanguage] find a [Culture], whose method Print does the work. The package needs a
// meter, which may be nil, for the cancellation and the memory of long formats.
package format
