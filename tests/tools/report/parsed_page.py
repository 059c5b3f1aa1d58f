"""A report's page, parsed."""

import base64
import io
import re
from xml.etree import ElementTree

import numpy as np

SVG = '{http://www.w3.org/2000/svg}svg'


class Page:
  """A parsed page: its facts, charts, tables, images and text.

  Fails if tags do not match, or if the page would load something.
  """

  def __init__(self, content):
    root = ElementTree.fromstring(content)
    charts = [tag for tag in root.iter('div') if tag.get('class') == 'chart']
    self.charts = [chart.get('aria-label') for chart in charts]
    assert all(chart.get('role') == 'img' for chart in charts)
    assert [len(list(c.iter(SVG))) for c in charts] == [1] * len(charts)
    assert len(list(root.iter(SVG))) == len(charts)
    self.images = list(root.iter('img'))
    self.tables = [[[''.join(cell.itertext())
                     for cell in row]
                    for row in table.iter('tr')]
                   for table in root.iter('table')]
    self.title = root.find('head/title').text
    self.facts = {
        ''.join(fact.find('dt').itertext()):
            (fact.find('dd/b').text, fact.find('dd/b').tail.strip())
        for fact in root.findall('body/dl/div')
    }
    self.headings = [heading.text for heading in root.iter('h2')]
    self.text = ''.join(root.find('body').itertext())
    self.captions = [''.join(c.itertext()) for c in root.iter('figcaption')]
    values = [value for tag in root.iter() for value in tag.attrib.values()]
    assert not any('//' in value for value in values if value[:5] != 'data:')
    assert '@import' not in content and not re.search(r'url\([^#]', content)
    assert not {'script', 'link', 'iframe'} & {tag.tag for tag in root.iter()}
    assert all(i.get('src').startswith('data:') for i in self.images)
    names = [tag.get('id') for tag in root.iter() if tag.get('id')]
    assert len(names) == len(set(names))
    assert 'nan' not in self.text.split()
    shares = [float(share) for share in re.findall('--share:(.*?)"', content)]
    assert all(0 <= share <= 1 for share in shares)


def pixels(image):
  """The image in a data: URI, uint8 [height, width, 4]."""
  from matplotlib.image import imread

  png = base64.b64decode(image.get('src')[len('data:image/png;base64,'):])
  return np.round(255 * imread(io.BytesIO(png))).astype(np.uint8)
