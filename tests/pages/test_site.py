"""The site of all pages: links, flags, its two languages and its versions.

.ci/run builds it, with no broken link.
"""

import json
import os
import re

import pytest

from tests import short_runs
from tests.pages import read

site, publish = (
    short_runs.module_of('pages', name) for name in ('site', 'publish'))
PAGE = ('<p><code>a --b=1</code></p><pre><code>a --b=1\n</code></pre>'
        '{"base":"%s"}')


@pytest.mark.parametrize(
    'page, link, in_site',
    [('README.md', 'docs/ko/install.md', 'ko/install.md'),
     ('README.md', 'README.ko.md', 'ko/index.md'),
     ('README.ko.md', 'docs/ko/install.md#1', 'install.md#1'),
     ('README.ko.md', 'docs/results/precision.png', '../results/precision.png'),
     ('docs/ko/results/README.md', '../../../CONTRIBUTING.md',
      '../../CONTRIBUTING.md'),
     ('docs/ko/results/README.md', 'https://a.b/c.md', 'https://a.b/c.md'),
     ('docs/tutorial.md', 'missing.md', 'missing.md'),
     ('docs/tutorial.md', '../scripts/test.sh', '../scripts/test.sh'),])
def test_links_lead_to_pages_of_the_site(page, link, in_site):
  assert site.linked(f'[a]({link}), ![b]({link})',
                     page) == (f'[a]({in_site}), ![b]({in_site})')


def test_links_to_code_lead_to_the_line():
  found = site.linked('[`loss()`](../../cifar10/cifar10.py)',
                      'docs/ko/tutorial.md')
  (number,) = re.fullmatch(
      r'\[`loss\(\)`]\(\.\./code/cifar10/cifar10\.py\.md'
      r'#__codelineno-0-(\d+)\)', found).groups()
  lines = read('cifar10/cifar10.py').splitlines()
  assert lines[int(number) - 1].startswith('def loss(')


def test_flags_are_kept_whole_and_each_language_has_its_search(tmp_path):
  pages = {'tutorial': '..', 'flags': '..', 'ko/tutorial': '../..', 'ko': '..'}
  for name, base in pages.items():
    (tmp_path / name).mkdir(parents=True, exist_ok=True)
    (tmp_path / name / 'index.html').write_text(PAGE % base)
  (tmp_path / 'index.html').write_text(PAGE % '.')
  places = '', 'tutorial/#a', 'flags/#b', 'ko/', 'ko/tutorial/#c'
  (tmp_path / 'search.json').write_text(
      json.dumps({
          'config': {},
          'items': [{
              'location': place
          } for place in places]
      }))
  site.finish(tmp_path)
  found = (tmp_path / 'ko' / 'tutorial' / 'index.html').read_text()
  assert found == ('<p><code>a <span class="whole">--b=1</span></code></p>'
                   '<pre><code>a --b=1\n</code></pre>{"base":"../../ko"}')
  assert '{"base":".."}' in (tmp_path / 'flags' / 'index.html').read_text()

  def places_in(folder):
    index = json.loads((folder / 'search.json').read_text())
    return [item['location'] for item in index['items']]

  assert places_in(tmp_path) == ['', 'tutorial/#a', 'flags/#b']
  assert places_in(tmp_path / 'ko') == ['../flags/#b', '', 'tutorial/#c']


def test_pages_offer_all_versions(tmp_path):
  for version in ('1.2.0', 'main'):
    (tmp_path / version).mkdir()
  publish.write_lists(tmp_path, ['1.2.0', 'main'])
  entries = json.loads((tmp_path / 'versions.json').read_text())
  assert [entry['version'] for entry in entries] == ['1.2.0', 'main']
  # From main/ko/, the theme looks up ../versions.json and links ../VERSION/.
  entries = json.loads((tmp_path / 'main' / 'versions.json').read_text())
  assert [entry['version'] for entry in entries
         ] == ['../1.2.0/ko', '../main/ko']
  assert [entry['aliases'] for entry in entries] == [[], ['ko']]
  assert 'url=1.2.0/"' in (tmp_path / 'index.html').read_text()


def test_each_page_is_in_the_navigation_of_its_language():
  nav = read('mkdocs.yml').partition('\nnav:\n')[2]
  groups = re.split(r'^  - (?=\S.*:$)', nav, flags=re.M)[1:]
  pages = [re.findall(r': (\S+\.md)$', group, re.M) for group in groups]
  docs = os.path.join(short_runs.ROOT, 'docs')
  there = {
      os.path.relpath(os.path.join(path, name), docs)
      for path, _, names in os.walk(docs)
      for name in names
      if name.endswith('.md')
  }
  assert set(sum(pages, [])) == there | set(site._OTHERS.values())
  in_korean = [page[0].startswith('ko/') for page in pages]
  count = in_korean.index(True)
  assert in_korean == sorted(in_korean)
  for of_group in pages:
    assert len({page.startswith('ko/') for page in of_group}) == 1
  style = read('scripts/pages/site.css')
  assert f'nth-child(n+{count + 1})' in style
  assert f'nth-child(-n+{count})' in style
