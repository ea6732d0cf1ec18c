# bash completion for haul, made by 'haul generate' from the flag table.
_haul() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd=${COMP_WORDS[1]} opt=
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W 'cp write du diff map help version' -- "$cur"))
		return
	fi
	# --option=value comes as three words: readline breaks at the sign.
	if [[ $cur == = ]]; then opt=$prev cur=
	elif [[ $prev == = ]]; then opt=${COMP_WORDS[COMP_CWORD-2]}
	elif [[ $prev == -* ]]; then opt=$prev
	fi
	case $cmd in
	cp)
		case $opt in
		--backup) COMPREPLY=($(compgen -W 'none simple existing numbered' -- "$cur")); ((${#COMPREPLY[@]})) && return ;;
		--preserve) COMPREPLY=($(compgen -W 'mode timestamps ownership links context xattr all' -- "$cur")); ((${#COMPREPLY[@]})) && return ;;
		--no-preserve) COMPREPLY=($(compgen -W 'mode timestamps ownership links context xattr all' -- "$cur")); ((${#COMPREPLY[@]})) && return ;;
		--reflink) COMPREPLY=($(compgen -W 'auto always never' -- "$cur")); ((${#COMPREPLY[@]})) && return ;;
		--sparse) COMPREPLY=($(compgen -W 'never auto always' -- "$cur")); ((${#COMPREPLY[@]})) && return ;;
		--update) COMPREPLY=($(compgen -W 'all none none-fail older' -- "$cur")); ((${#COMPREPLY[@]})) && return ;;
		--durability) COMPREPLY=($(compgen -W 'none batch each' -- "$cur")); ((${#COMPREPLY[@]})) && return ;;
		--compare) COMPREPLY=($(compgen -W 'never time size content' -- "$cur")); ((${#COMPREPLY[@]})) && return ;;
		--progress) COMPREPLY=($(compgen -W 'auto always never' -- "$cur")); ((${#COMPREPLY[@]})) && return ;;
		esac
		[[ $cur == -* ]] && COMPREPLY=($(compgen -W '-a --archive --attributes-only --backup -b --copy-contents -d --debug -f --force -i --interactive -H --keep-directory-symlink -l --link -L --dereference -n --no-clobber -P --no-dereference -p --preserve --no-preserve= --parents -R -r --recursive --reflink --remove-destination --sparse= --strip-trailing-slashes -s --symbolic-link -S --suffix= -t --target-directory= -T --no-target-directory --update -u -v --verbose -x --one-file-system -Z --context --help --version --jobs= --durability= --inplace --preallocate --map-size= --write-size= --compare= --delete --filter= --dry-run --verify --progress --stats -h --human-readable --json' -- "$cur"))
		;;
	write)
		case $opt in
		--durability) COMPREPLY=($(compgen -W 'none batch each' -- "$cur")); ((${#COMPREPLY[@]})) && return ;;
		--sparse) COMPREPLY=($(compgen -W 'never auto always' -- "$cur")); ((${#COMPREPLY[@]})) && return ;;
		esac
		[[ $cur == -* ]] && COMPREPLY=($(compgen -W '-a --append --durability= --sparse= --inplace --preallocate --write-size= --mode= --size= --json --help --version' -- "$cur"))
		;;
	du)
		case $opt in
		esac
		[[ $cur == -* ]] && COMPREPLY=($(compgen -W '-0 --null -a --all --allocated --apparent-size -b --bytes -B --block-size= -c --total -d --max-depth= -h --human-readable -k -m -l --count-links -s --summarize -x --one-file-system --filter= --json --help --version' -- "$cur"))
		;;
	diff)
		case $opt in
		--ignore) COMPREPLY=($(compgen -W 'mode owner group mtime xattrs acl links' -- "$cur")); ((${#COMPREPLY[@]})) && return ;;
		esac
		[[ $cur == -* ]] && COMPREPLY=($(compgen -W '-c --content -i --ignore= -r --recursive -q --quiet -x --one-file-system -0 --null --filter= --json --help --version' -- "$cur"))
		;;
	map)
		case $opt in
		esac
		[[ $cur == -* ]] && COMPREPLY=($(compgen -W '-h --human-readable -l --list -p --picture -w --width= --json --help --version' -- "$cur"))
		;;
	help)
		case $opt in
		esac
		[[ $cur == -* ]] && COMPREPLY=($(compgen -W '--help --version' -- "$cur"))
		COMPREPLY+=($(compgen -W 'cp write du diff map help version' -- "$cur"))
		;;
	version)
		case $opt in
		esac
		[[ $cur == -* ]] && COMPREPLY=($(compgen -W '--json --help --version' -- "$cur"))
		;;
	esac
	[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -o default -F _haul haul
