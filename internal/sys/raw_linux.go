package sys

// RawTimes takes the times out of a RawStat.
func RawTimes(s *RawStat) (atime, mtime, ctime RawTimespec) { return s.Atim, s.Mtim, s.Ctim }
