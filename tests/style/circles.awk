# Which file calls which: a source and the header of its name are one file, so
# an inline function belongs to the file of its header. Reads the sources twice,
# with pass=1 what they define and with pass=2 what they use. Prints "define FILE
# NAME" for functions that other files may call, "call FROM TO NAME", and for
# files that call one another in a circle "circle FIRST FILE", where FIRST is the
# first of the circle's files in the alphabet.

# The line without comments and texts.
function code_of(line,    at)
{
    if (in_comment) {
        at = index(line, "*/")
        if (at == 0)
            return ""
        line = substr(line, at + 2)
        in_comment = 0
    }
    gsub(/\\./, "", line)
    gsub(/"[^"]*"|'[^']*'/, " ", line)
    gsub(/\/\/.*/, "", line)
    while ((at = index(line, "/*")) != 0) {
        if (!match(substr(line, at + 2), /\*\//)) {
            in_comment = 1
            return substr(line, 1, at - 1)
        }
        line = substr(line, 1, at - 1) " " substr(line, at + 3 + RSTART)
    }
    return line
}

# `text` stands before the brace or the "=" of a definition. Names without the
# project's prefix are those of functions only.
function define(text,    name, is_function)
{
    gsub(/__attribute__ *\(\([^)]*\)+/, "", text)
    if (text !~ /\(/ && text !~ /(xyl|xylem|xmpi)_[a-z0-9_]* *(\[.*)?$/)
        return
    is_function = text ~ /\(/
    sub(/ *[(\[].*/, "", text)
    name = text
    sub(/.*[^A-Za-z0-9_]/, "", name)
    if (name !~ /[a-z]/ || name == text)
        return
    if (text ~ /(^|[^a-z_])static / && FILENAME !~ /\.h$/)
        own[file, name] = 1
    else if (name in definer && definer[name] != file)
        definer[name] = "several"
    else
        definer[name] = file
    if (is_function && !((file, name) in own))
        print "define", file, name
}

function top_of(path)
{
    return substr(path, 1, index(path, "/"))
}

# Outside the library and the binding, where names have no prefix, functions
# are known by their parenthesis.
function use(line,    name, before)
{
    while (match(line, /[A-Za-z_][A-Za-z0-9_]*/)) {
        name = substr(line, RSTART, RLENGTH)
        before = substr(line, RSTART - 1, 1)
        line = substr(line, RSTART + RLENGTH)
        if (!(name in definer) || definer[name] == file ||
            definer[name] == "several" || (file, name) in own ||
            (file, name) in uses || before ~ /[.>]/)
            continue
        if (name !~ /^(xyl|xylem|xmpi)_/ &&
            (line !~ /^\(/ || top_of(definer[name]) != top_of(file)))
            continue
        uses[file, name] = 1
        print "call", file, definer[name], name
        if (!((file, definer[name]) in calls)) {
            calls[file, definer[name]] = 1
            callees[file] = callees[file] " " definer[name]
        }
    }
}

FNR == 1 {
    in_comment = depth = 0
    before = ""
    file = FILENAME
    sub(/\.[a-z]+$/, "", file)
}

{
    line = code_of($0)
    if (line ~ /^ *#/ || in_directive) {
        if (pass == 2)
            use(line)
        in_directive = /\\$/
        next
    }
    if (line ~ /^}/)
        depth = 1
    if (pass == 2 && depth > 0)
        use(line)
    rest = line
    while (match(rest, /[{};]/)) {
        sign = substr(rest, RSTART, 1)
        if (depth == 0) {
            before = before " " substr(rest, 1, RSTART - 1)
            if (pass == 1 && (sign == "{" || before ~ /=/)) {
                sub(/ *=.*/, "", before)
                define(before)
            }
            before = ""
        }
        depth += (sign == "{") - (sign == "}")
        rest = substr(rest, RSTART + 1)
        if (pass == 2 && sign == "{" && depth == 1)
            use(rest)
    }
    if (depth == 0)
        before = before " " rest
}

# Sets reached[] to what `from` calls, directly or not.
function reach(from,    queue, head, tail, list, count, i)
{
    split("", reached)
    queue[tail++] = from
    while (head < tail) {
        count = split(callees[queue[head++]], list, " ")
        for (i = 1; i <= count; i++)
            if (!(list[i] in reached)) {
                reached[list[i]] = 1
                queue[tail++] = list[i]
            }
    }
}

END {
    for (file in callees) {
        reach(file)
        for (to in reached)
            reaches[file, to] = 1
    }
    for (file in callees) {
        if (!((file, file) in reaches))
            continue
        first = file
        for (to in callees)
            if ((file, to) in reaches && (to, file) in reaches && to < first)
                first = to
        print "circle", first, file
    }
}
